# Losses of each person if everyone is protected. Donors and treated people have separate accounts,
# and each person belongs to one account. In a round of moments a person's shift follows as in
# mech-pdp-gram.R; a choice counts at its full charge.

#' Losses of donors and treated people in a release by method gram
#' @param rows (`list`, PRIVATE)\cr matrices of rows by account, with all periods, in outcome units.
#' @return A data frame with `person` (position in the account), `account`, and the losses. PRIVATE.
#' @noRd
pdp_everyone <- function(release, rows, delta) {
  scale <- release_scale(release)
  out <- Map(function(account, name) {
    own <- scale
    own[c("centre", "half")] <- lapply(scale[c("centre", "half")], `[`, account$order)
    people <- rows[[name]]
    if (is.matrix(people)) people <- people[, account$order, drop = FALSE]
    rounds <- lapply(account$rounds, function(round) {
      c(round, gram_contributions(round, people, own))
    })
    loss <- gram_losses(rounds, account_release(release, name), delta)
    data.frame(person = seq_len(nrow(loss)), account = name, loss)
  }, rounds <- account_rounds(release), names(rounds))
  out <- do.call(rbind, out)
  rownames(out) <- NULL
  out
}

#' The people of a release for everyone, by account
#' @param adopted (`numeric`)\cr each treated person's number of periods before the treatment.
#' @return A list of matrices (for donors possibly `dp_chunks`). PRIVATE.
#' @noRd
people_by_account <- function(release, donors, treated, adopted) {
  dates <- release$statistics$cohorts$T0
  m <- release$panel$treated
  adopted <- if (is.null(dates)) rep(release$panel$T0, NROW(treated)) else adopted
  cohort <- match(adopted, dates %||% release$panel$T0)
  fits <- length(cohort) == NROW(treated) && !anyNA(cohort) &&
    identical(as.integer(tabulate(cohort, length(m))), as.integer(m))
  if (!fits) {
    abort(c(
      "These treated people do not match the release.",
      x = paste0(
        "The release protects {sum(m)} treated people",
        if (length(m) > 1L) " with several treatment dates", "."
      ),
      i = paste0(
        "Give their rows as {.arg target}",
        if (!is.null(dates)) {
          " and the number of periods before each person's treatment as {.arg T0}"
        }, "."
      )
    ), "panel")
  }
  groups <- lapply(seq_along(m), function(g) treated[cohort == g, , drop = FALSE])
  names(groups) <- if (length(m) == 1L) "treated" else cohort_account(seq_along(m))
  c(list(donors = donors), groups)
}
