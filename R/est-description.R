# The numbers of a released description as a table.

#' All statistics of a description
#' @param clusters (`flag`)\cr whether limits allow for people far from all others.
#' @return A data frame as from `tidy()`, with limits.
#' @noRd
description_table <- function(x, level, clusters = TRUE) {
  groups <- x$columns$groups$levels %||% NA_character_
  values <- description_values(x, level, clusters)
  statistics <- c("n", "mean", "sd", paste0("q", x$quantiles))
  own <- function(name, level, group, statistic, matrix) {
    data.frame(
      variable = name, level = level, group = group, statistic = statistic,
      estimate = matrix[, 1L], std.error = matrix[, 2L], privacy.se = matrix[, 3L],
      conf.low = matrix[, 4L], conf.high = matrix[, 5L]
    )
  }
  parts <- list()
  each <- function(atoms, matrices, make) {
    for (j in seq_along(atoms)) {
      for (g in seq_along(groups)) {
        at <- (j - 1L) * length(groups) + g
        parts[[atoms[[j]]$name]] <<- rbind(
          parts[[atoms[[j]]$name]], make(atoms[[j]], groups[[g]], matrices[[at]])
        )
      }
    }
  }
  each(x$columns$numbers, values$numbers, function(atom, group, matrix) {
    own(atom$name, NA_character_, group, statistics, matrix)
  })
  each(x$columns$factors, values$factors, function(atom, group, matrix) {
    own(atom$name, atom$levels, group, "share", matrix)
  })
  sizes <- if (!is.null(values$groups)) {
    own(x$columns$groups$name, NA_character_, groups, "n", values$groups)
  }
  out <- do.call(rbind, c(list(sizes), parts[unique(x$columns$order)]))
  rownames(out) <- NULL
  out
}

#' People whom noise may hide far from all others
#' @return A data frame with one row per number and group with limits that allow for such people.
#'   Columns: `variable`, `group`, `share` (the largest possible share on either side), `low`,
#'   `high` (ends of the window in which values are summed; `NA` for a side without such people).
#'   RELEASED.
#' @noRd
unseen_people <- function(x, level = 0.95) {
  if (!x$privacy$private || !length(x$columns$numbers)) {
    return(NULL)
  }
  found <- do.call(rbind, describe_numbers_cpp(x$release, x$facts, level, TRUE)$unseen)
  groups <- x$columns$groups$levels %||% NA_character_
  out <- data.frame(
    variable = rep(x$facts$numbers, each = length(groups)), group = groups,
    share = pmax(found[, 1L], found[, 2L]),
    low = ifelse(found[, 1L] > 0, found[, 3L], NA), high = ifelse(found[, 2L] > 0, found[, 4L], NA)
  )
  out[out$share > 0, ]
}

#' Matrices of estimates, standard errors and limits; without privacy only of estimates
#' @noRd
description_values <- function(x, level, clusters = TRUE) {
  if (x$privacy$private) {
    return(describe_numbers_cpp(x$release, x$facts, level, clusters))
  }
  bare <- function(values) cbind(values, NA, NA, NA, NA, deparse.level = 0)
  list(
    numbers = lapply(x$release$numbers, bare),
    factors = lapply(x$release$levels, function(counts) bare(counts / max(1, sum(counts)))),
    groups = if (!is.null(x$release$sizes)) bare(x$release$sizes)
  )
}
