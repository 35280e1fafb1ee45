# The methods of dp_glm(), one record each. What a method does with rows is in its own file; this
# table is all that dp_glm() knows of it.

#' The methods, by name
#'
#' A record is a list:
#' * `title` (string): words for prints, as in "by ...".
#' * `families` (character): names of `glm_families()` it can fit.
#' * `calibrations` (character): of `"tight"` and `"published"`; the first is the default.
#' * `options` (character): which of `"penalty"`, `"constraints"`, `"intervals"`, `"settings"` it
#'   takes; others are refused before anything is spent.
#' * `refuse` (function of public; optional): a reason why it cannot do what is asked, or `NULL`.
#' * `prepare` (function of public, columns and call; optional): `public`, with its options checked
#'   and whatever the core needs of them in `facts`. Before anything is spent.
#' * `promise` (function of public): a list of `holds`, `theorem`, `reason`, `neighbours`, `exact`.
#'   `holds` is about the method; a seed is added by dp_glm().
#' * `plan` (function of public and call): a list with `cost` (from `new_cost()`), `steps` (a data
#'   frame as `as_steps()` makes) and whatever else is worth printing. PUBLIC: sees no rows. May
#'   fail with class `dpsc::budget_too_small`.
#' * `hopeless` (function of public, plan and call; optional): an error where the plan knows that
#'   nothing would be identified. Before the charge, and not of a file.
#' * `run` (function of plan, table and public): the release, a list. RELEASED. `table` is the
#'   matrix of `lm_table()`, the outcome last; `NaN` marks missing rows.
#' * `estimate` (function of release and public): `coefficients` (intercept first, formula's
#'   units), `privacy` and `sampling` (matrices, or `NULL`: no errors), `identified` (one number a
#'   coefficient: above 1 it is). RELEASED.
#' * `loss` (function of fit, table and delta): privacy loss of every person, a table as
#'   `row_losses()` makes it. PRIVATE.
#' * `weighs`, `references` (character; optional): what a paper has to say of its weights, and the
#'   works it rests on.
#'
#' `public` is a list: `private`, `epsilon`, `delta`, `n`, `rng`, `family`, `method`, `calibration`,
#' `options`, `facts` (for the core: `n`, `epsilon`, `delta`, `design`, `family`, `upper`,
#' `intervals`). PUBLIC.
#' @noRd
glm_mechanisms <- function() {
  c(
    list(objective = objective_glm()),
    paper_mechanisms()
  )
}
