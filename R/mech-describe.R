# The method of dp_describe(), as the table of methods has it.

#' @noRd
describe_mechanism <- function() {
  new_mechanism("dp_describe", title = "counts, quantiles and moments by group", needs = "blocks",
    theorem = function(gaussian) {
      if (gaussian) {
        paste("exponential and discrete Gaussian mechanisms, zero-concentrated composition",
          "(Bun and Steinke, 2016; proofs/describe.md)")
      } else {
        paste("exponential and discrete Laplace mechanisms, whose epsilons add up",
          "(Dwork and Roth, 2014; proofs/describe.md)")
      }
    }
  )
}

#' The steps of a description: all choices as one step, then the sums
#' @param plan (`list`)\cr the core's plan; the choices have the budget that the sums leave.
#' @return A data frame of `step`, `law`, `sensitivity`, `scale`, and `rho` or `epsilon`; `NULL`
#'   without privacy. PUBLIC.
#' @noRd
description_steps <- function(plan, facts) {
  if (is.null(plan$total)) {
    return(NULL)
  }
  count <- c(length(facts$numbers), length(facts$factors), facts$groups > 1)
  sums <- plan[c("moments", "table", "sizes")]
  sensitivity <- vapply(sums, `[[`, 0, "sensitivity")
  scale <- vapply(sums, `[[`, 0, "scale")
  cost <- count * ifelse(count > 0, if (plan$gaussian) {
    sensitivity^2 / (2 * scale)
  } else {
    sensitivity / scale
  }, 0)
  steps <- data.frame(
    step = c("quantiles and radii", "moments", "counts of levels", "sizes of groups"),
    law = c("exponential", rep(if (plan$gaussian) "discrete_gaussian" else "discrete_laplace", 3L)),
    sensitivity = c(NA, sensitivity), scale = c(NA, scale),
    cost = c(plan$spent * plan$total - sum(cost), cost)
  )
  names(steps)[[5L]] <- if (plan$gaussian) "rho" else "epsilon"
  steps[c(count[[1L]], count) > 0, ]
}
