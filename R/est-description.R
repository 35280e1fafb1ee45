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

#' Doubts from released quartiles and limits of means and standard deviations
#'
#' Limits that allow for hidden clusters are used, so that noise alone causes no doubt.
#' @return Strings, see [doubt_words()].
#' @noRd
description_doubts <- function(x) {
  if (!x$privacy$private || !length(x$columns$numbers)) {
    return(character())
  }
  groups <- max(1L, length(x$columns$groups$levels))
  values <- describe_numbers_cpp(x$release, x$facts, 0.95, TRUE)$numbers
  noise <- x$plan$moments$scale
  noise <- (if (x$plan$gaussian) sqrt(noise) else sqrt(2) * noise) / x$plan$moments$rest
  quartiles <- 3L + match(c(0.25, 0.5, 0.75), x$quantiles)
  facts <- lapply(seq_along(values), function(at) {
    atom <- x$columns$numbers[[(at - 1L) %/% groups + 1L]]
    width <- atom$upper - atom$lower
    own <- values[[at]]
    middle <- own[quartiles, 1L]
    # Rounding moves a quantile from its bound by a cell of the grid.
    near <- function(bound) all(abs(middle - bound) <= 1e-4 * width)
    # A large standard deviation shows values away from the bound, as with a ceiling.
    flat <- isTRUE(own[3L, 1L] < 0.12 * width)
    end <- if (flat && near(atom$lower) && own[2L, 5L] < atom$lower + 0.15 * width) {
      -1
    } else if (flat && near(atom$upper) && own[2L, 4L] > atom$upper - 0.15 * width) {
      1
    } else {
      0
    }
    sums <- x$release$numbers[[at]]$sums
    beyond <- max(0, sums[[5L]] / x$plan$moments$rest) + 2 * noise
    data.frame(
      name = atom$name, lower = atom$lower, upper = atom$upper, end = end,
      narrow = diff(range(middle)) > 0 && own[3L, 5L] < 0.001 * width,
      alone = !x$plan$late && beyond < 0.002 * own[1L, 1L]
    )
  })
  unique(doubt_words(do.call(rbind, facts)))
}
