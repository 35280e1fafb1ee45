# The record of a method, for every verb. The one table mechanism_table (rel-mechanisms.R) contains
# all records; no other code depends on the name of a method.

# The fields of a verb's records besides `title`, `needs` and `options`. Unneeded fields may be
# absent.
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
#' * `needs` (string): the access to people's rows that the method needs, which alone determines the
#'   refused sources (see [refuse_source()]). `"sums"` are computed where the rows are; `"blocks"`
#'   of rows are read one after the other; `"rows"` are read all at once.
#' * `options` (character): settings that the method accepts; other settings are refused.
#' * `person` (string, may be absent): as `needs`, for people with several rows (see [dp_person]). A
#'   method without this field takes one row per person.
#'
#' The field `core` contains the name of the method in the core, if any.
#'
#' Fields for `dp_synth` (and [dp_release()]):
#' * `plan` (function of public): budget, steps and constants. PUBLIC.
#' * `run` (function of plan, rows and public): the statistics. RELEASED.
#' * `settings` (function of public and plan): settings for the estimator. PUBLIC.
#' * `theorem` (function of public and steps): a string.
#' * `published_fails` (string): the reason why the guarantee of the published calibration is not
#'   valid.
#' * `gives` (string): `"moments"` of the donors, which are sufficient for any target, penalty and
#'   later date, or `"weights"` for one target.
#' * `calibrations` (character): the available calibrations; the first calibration is the default.
#' * `problem` (function of release): the fault of statistics read from a file, or `NULL`.
#' * `cost`, `noise` (functions of release): the fault of a private release if the cost of its steps
#'   does not add up to the guaranteed budget, and if its statistics and its steps report different
#'   noise.
#' * `loss` (function of release, donors and delta): privacy loss of every donor, as a table from
#'   `loss_table()`. PRIVATE.
#' * `numbers` (function of statistics): the released values as one vector, for audits. RELEASED.
#' * `variants` (list by name: `everyone`, `dates`, `everyone_dates`, `growing`): `plan`, `run` and
#'   `needs` of the variant, if they differ. A method without a variant refuses requests for this
#'   variant.
#'
#' Fields for `dp_lm`: `gives`, `"moments"` or one `"draw"`; `theorem`, a string; `source`, the
#' authors of the method; `core`, its name in the core; `adaptive`, whether a noisy eigenvalue is
#' released before the draw.
#'
#' Fields for `dp_glm`:
#' * `families` (character): names of the `glm_families` that the method can fit.
#' * `calibrations` (character): the available calibrations; the first calibration is the default.
#' * `refuse` (function of public): a reason for refusing the request, or `NULL`.
#' * `prepare` (function of public and columns): `public` with checked options, and the facts that
#'   the core needs in `facts`. Called before any budget is spent.
#' * `promise` (function of public): a list of `holds`, `theorem`, `reason`, `neighbours`, `exact`.
#'   `holds` is about the method; dp_glm() adds the effect of a seed.
#' * `plan` (function of public): a list with `cost` (from `new_cost()`), `steps` (a data frame) and
#'   any other values to print. The function reads no rows, and can fail with class
#'   `dpsc::budget_too_small`. PUBLIC.
#' * `hopeless` (function of public and plan): an error if, by the plan, no coefficient would be
#'   identified. Called before the charge, but not for a file.
#' * `run` (function of plan, table and public): the release, a list. RELEASED. `table` is the
#'   matrix from `lm_table()` with the outcome in the last column; `NaN` marks missing rows.
#' * `estimate` (function of release and public): `coefficients` (intercept first, in the formula's
#'   units), `privacy` and `sampling` (matrices, or `NULL` without standard errors), `identified`
#'   (one number per coefficient; a coefficient is identified if its number exceeds 1). RELEASED.
#' * `loss` (function of fit, table and delta): privacy loss of every person, as a table from
#'   `row_losses()`. PRIVATE.
#' * `broken` (character by calibration): the reasons why calibrations are not private.
#' * `weighs`, `references` (character): a sentence for papers on the method's weights, and the keys
#'   of its references in `inst/works.dcf`.
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
