# The record of a method, for every verb. All records are in one table, mechanism_table
# (rel-mechanisms.R); no other code depends on a method's name.

# The fields that a verb's records have besides `title`, `needs` and `options`; unneeded fields may
# be absent.
mechanism_fields <- list(
  dp_synth = list(
    needed = c("plan", "run", "settings", "theorem", "gives", "calibrations", "problem", "cost",
      "noise", "loss", "numbers"),
    other = c("published_fails", "variants")
  ),
  dp_lm = list(needed = c("gives", "theorem"), other = c("source", "core", "adaptive", "person")),
  dp_glm = list(
    needed = c("families", "calibrations", "promise", "plan", "run", "estimate", "loss"),
    other = c("refuse", "prepare", "hopeless", "weighs", "references", "broken", "person",
      "words")
  ),
  dp_select = list(
    needed = c("theorem", "shares", "picks", "sums", "blocks", "check", "complete", "subsets",
      "locates", "hurdle", "core"),
    other = c("pick", "assumes", "person")
  ),
  dp_aggregate = list(
    needed = c("by_rank", "located", "mean", "theorem", "ranks", "noise"), other = "person"
  ),
  dp_describe = list(needed = "theorem", other = "person"),
  dp_online = list(
    needed = c("core", "families", "step", "more", "damping", "penalty"),
    other = c("printed", "once", "most")
  )
)

#' A method's record
#'
#' In every record:
#' * `title` (string): words for prints.
#' * `needs` (string): the access to people's rows that it needs, which alone decides the sources it
#'   refuses (see [refuse_source()]): `"sums"`, which may be made wherever rows are; `"blocks"` of
#'   rows, one after the other; all `"rows"` at once.
#' * `options` (character): settings that it accepts; others are refused.
#' * `person` (string, may be absent): as `needs`, where people have several rows (see
#'   [dp_person]). A method without it takes one row per person.
#'
#' If a method has a name in the core, it is in `core`.
#'
#' Fields for `dp_synth` (and [dp_release()]):
#' * `plan` (function of public): its budget, steps and constants. PUBLIC.
#' * `run` (function of plan, rows and public): the statistics. RELEASED.
#' * `settings` (function of public and plan): settings for the estimator. PUBLIC.
#' * `theorem` (function of public and steps): a string.
#' * `published_fails` (string): the reason why the promise of the published calibration does not
#'   hold.
#' * `gives` (string): `"moments"` of the donors, which serve any target, penalty and later date, or
#'   `"weights"` of one.
#' * `calibrations` (character): which it has; the first is the default.
#' * `problem` (function of release): the fault of statistics read from a file, or `NULL`.
#' * `cost`, `noise` (functions of release): the fault of a private release whose steps do not add
#'   up to its promise, and of one whose statistics report other noise than its steps.
#' * `loss` (function of release, donors and delta): privacy loss of every donor, a table as
#'   `loss_table()` makes it. PRIVATE.
#' * `numbers` (function of statistics): the released values, one vector, for audits. RELEASED.
#' * `variants` (list by name: `everyone`, `dates`, `everyone_dates`, `growing`): `plan`, `run` and
#'   `needs` where they differ; a method without a variant refuses requests for it.
#'
#' Fields for `dp_lm`: `gives`, `"moments"` or one `"draw"`; `theorem`, a string; `source`, the
#' method's authors; `core`, its name in the core; `adaptive`, is a noisy eigenvalue released before
#' the draw?
#'
#' Of `dp_glm`:
#' * `families` (character): names of `glm_families` that it can fit.
#' * `calibrations` (character): the first is the default.
#' * `refuse` (function of public): a reason for refusing the request, or `NULL`.
#' * `prepare` (function of public and columns): `public`, with its options checked and whatever the
#'   core needs of them in `facts`. Before anything is spent.
#' * `promise` (function of public): a list of `holds`, `theorem`, `reason`, `neighbours`, `exact`.
#'   `holds` is about the method; a seed is added by dp_glm().
#' * `plan` (function of public): a list with `cost` (from `new_cost()`), `steps` (a data frame) and
#'   any other values worth printing. PUBLIC: reads no rows. May fail with class
#'   `dpsc::budget_too_small`.
#' * `hopeless` (function of public and plan): an error if, according to the plan, no coefficient
#'   would be identified. Called before the charge, and not for a file.
#' * `run` (function of plan, table and public): the release, a list. RELEASED. `table` is the
#'   matrix of `lm_table()`, the outcome last; `NaN` marks missing rows.
#' * `estimate` (function of release and public): `coefficients` (intercept first, formula's
#'   units), `privacy` and `sampling` (matrices, or `NULL`: no errors), `identified` (one number per
#'   coefficient, which is identified if it exceeds 1). RELEASED.
#' * `loss` (function of fit, table and delta): privacy loss of every person, a table as
#'   `row_losses()` makes it. PRIVATE.
#' * `broken` (character by calibration): the reasons why calibrations are not private.
#' * `weighs`, `references` (character): a sentence for papers on its weights, and the keys of its
#'   references in `inst/works.dcf`.
#'
#' Its `public` is a list: `private`, `epsilon`, `delta`, `n`, `rng`, `family`, `method`,
#' `calibration`, `options`, `facts` (for the core: `n`, `epsilon`, `delta`, `design`, `family`,
#' `upper`, `intervals`). PUBLIC.
#'
#' Field for `dp_describe`: `theorem` (function of a flag: is the noise Gaussian?).
#'
#' For the fields of `dp_select` see [selector()], of `dp_aggregate` [aggregator()], of `dp_online`
#' [learner_of()].
#' @noRd
new_mechanism <- function(verb, title, needs, options = character(), ...) {
  record <- list(title = title, needs = needs, options = options, ...)
  fields <- mechanism_fields[[verb]]
  own <- setdiff(names(record), c("title", "needs", "options"))
  stopifnot(
    needs %in% row_needs, all(fields$needed %in% own), own %in% c(fields$needed, fields$other)
  )
  record
}
