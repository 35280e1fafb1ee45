# The record of the method of dp_describe() for the table of methods.

#' @noRd
describe_mechanism <- function() {
  new_mechanism("dp_describe",
    title = "counts, quantiles and moments by group", needs = "blocks", person = "blocks",
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
#' @param plan (`list`)\cr the core's plan; the choices use the budget that remains after the sums.
#' @param late (`count`)\cr number of columns with late radii, RELEASED; 0 in a plan.
#' @return A data frame of `step`, `law`, `sensitivity`, `scale`, and `rho` or `epsilon`; `NULL`
#'   without privacy. PUBLIC.
#' @noRd
description_steps <- function(plan, facts, late = 0L) {
  if (is.null(plan$total)) {
    return(NULL)
  }
  count <- c(length(facts$numbers) - late, late, length(facts$factors), facts$groups > 1)
  sums <- plan[c("moments", "after", "table", "sizes")]
  sensitivity <- vapply(sums, `[[`, 0, "sensitivity")
  scale <- vapply(sums, `[[`, 0, "scale")
  cost <- count * ifelse(count > 0, if (plan$gaussian) {
    sensitivity^2 / (2 * scale)
  } else {
    sensitivity / scale
  }, 0)
  steps <- data.frame(
    step = c("quantiles and radii", "moments", "moments after radii", "counts of levels",
      "sizes of groups"),
    law = c("exponential", rep(if (plan$gaussian) "discrete_gaussian" else "discrete_laplace", 4L)),
    sensitivity = c(NA, sensitivity), scale = c(NA, scale),
    cost = c(plan$spent * plan$total - sum(cost), cost)
  )
  names(steps)[[5L]] <- if (plan$gaussian) "rho" else "epsilon"
  steps[c(length(facts$numbers), count) > 0, ]
}

#' Number of columns with late radii
#' @noRd
late_columns <- function(plan, facts, release) {
  if (!isTRUE(plan$late)) {
    return(0L)
  }
  # A column's radii are drawn for all groups or for no group.
  drawn <- vapply(release$numbers, function(own) max(own$radii) > 0, NA)
  sum(drawn) %/% max(1L, facts$groups)
}
