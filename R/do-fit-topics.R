# Help pages that supplement ?dp_synth: other forms of donors, and single topics.

#' Synthetic control from a matrix of donors, from other sources, and from a release
#'
#' [dp_synth()] also takes the donors as a matrix, as [dp_chunks()] or in [dp_sources()], with the
#' target as a separate argument. Given a [dp_release()], `dp_synth()` makes a further fit, which
#' spends no budget.
#'
#' @inheritParams dp_synth
#' @param x (`matrix`, [dp_chunks()], [dp_sources()] or [dp_release()])\cr the donors' outcomes, one
#'   row per donor and one column per period, in outcome units (PRIVATE); or a release.
#' @param target (`numeric`, one value per period, or `matrix`, one row per treated unit)\cr the
#'   treated units' outcomes. PUBLIC.
#' @param T0 (`count`, or one for each row of `target`)\cr number of periods before the treatment,
#'   at least 2. Different values mean several adoption dates, see [dp_cohorts]. With a release by
#'   `"gram"`, `NULL` means the value in the release; a larger value is also permitted.
#' @param method,calibration (`string`)\cr see [dp_synth()].
#' @param times (`vector`, or `NULL`)\cr the periods of a matrix, one per column; `NULL` numbers
#'   them from 1.
#' @param lambda (`number` or `NULL`)\cr the penalty, for a release by method `"gram"`, see
#'   [dp_control()]; `NULL` averages over penalties. A fit with another penalty costs no budget.
#' @param covariates (`numeric`, or `matrix`, one row per treated unit)\cr the targets' covariates,
#'   if the release has covariates, in the order of the release's `panel$covariates$name`. PUBLIC.
#' @param weights (`numeric`, `"last"`, or `name` of a column)\cr people's weights, with the same
#'   meaning and requirements as in [dp_synth()]. For a matrix give one number per donor, for
#'   [dp_chunks()] `"last"` (the last column of each block), and for long data the name of a column.
#'   PRIVATE.
#' @return The same as for [dp_synth()].
#' @inheritSection dp_synth Errors
#' @examples
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' # The same release, for difference-in-differences: nothing is spent.
#' dp_synth(fit$release, target = panel$target, estimator = "did")
#' @name dp_synth_donors
NULL

#' Treated people, protected or public
#'
#' Several treated units with one adoption date form a group. The argument `protect` of [dp_synth()]
#' states whose data are protected:
#' * `"donors"`: only the donors' data are protected. The treated units' data are PUBLIC: the fit
#'   contains the group's mean, and with method `"gram"` also each unit's outcomes.
#' * `"everyone"`: the data of donors and treated people are protected. Neighbouring data sets arise
#'   by replacing the whole row of one person, donor or treated. Each person's role, the adoption
#'   dates and all counts are public. Donors and treated people each have the whole budget (adaptive
#'   parallel composition, `proofs/treated.md`). The donors' release then uses no target. A separate
#'   release gives the noisy mean path of the treated people, which is the fit's `target`. The fit
#'   contains no treated person's values or name, and no mean without noise. This protection costs
#'   little accuracy from several hundred treated people on (`bench/results/protect.csv`). Groups
#'   too small for the budget (fewer than 48 people at `epsilon = 1`) are refused. Effects in per
#'   cent are `NA` where the noise hides the counterfactual's level, as the noise usually does for
#'   60 people at `epsilon = 1`. [conformal()], [placebo_time()] and [penalty_path()] are refused.
#'   With several adoption dates every cohort is a protected group. If the treatment acts on some
#'   people only, an effect on fewer of them than the noise hides is not seen: the print gives the
#'   share (at `epsilon = 1` about 8 % of 300 people), and the average is then the average of the
#'   other people. Where a larger share may be far from the others, the interval is wide.
#' @seealso [dp_synth()], [dp_cohorts]
#' @name dp_synth_treated
NULL

#' Covariates of a synthetic control
#'
#' The formula `outcome ~ treated | x1 + x2` adds columns of `data` to a person's row (for `method =
#' "gram"` with the estimator `"ridge"`). Each covariate has one value per person. The value of a
#' numeric covariate is its mean before the treatment, after every entry is clipped to the bounds.
#' The value of a factor or string is the person's first entry that is not missing; an undeclared
#' level counts as the first declared level. No message depends on the values of a protected
#' person's covariates; the presence of a value counts as public, as for the outcome. A factor that
#' varies within a public treated unit, or within any unit if nothing is private, causes an error.
#' With several adoption dates "before the treatment" means before the first date, for everybody.
#'
#' @section Covariates of classical estimators: Classical estimators are not private. They need no
#'   bounds, and ignore given bounds. A term may be computed from columns. Factors and strings
#'   become indicators of their levels.
#' * `"simplex"`, `"demeaned"`, `"penalised"`, `"augmented"` and `"predictors"` balance *one value
#'   per unit*: the mean over the periods before the (first) treatment, or over the periods named in
#'   `over(x, 1980:1985)`. The estimator `"predictors"` fits only these means, weighted by their
#'   importances. The other estimators fit these means together with all outcomes before the
#'   treatment. Each mean is scaled to the outcomes' standard deviation, so a covariate with
#'   importance 1 counts as one period. The argument `v` of [dp_control()] sets importances, except
#'   for `"augmented"`.
#' * `"sdid"`, `"factor"` and `"mcnnm"` take **regressors**, which must be known in every period and
#'   must not be changed by the treatment. A column that changes over time has one coefficient,
#'   stored in the fit's `slopes`. `"sdid"` estimates this coefficient by least squares with effects
#'   of units and periods, on all untreated observations, and is then fitted to the residuals
#'   (Kranz, 2022). `"factor"` estimates the coefficient together with the donors' factors (Bai,
#'   2009; Xu, 2017). `"mcnnm"` estimates the coefficient, without a penalty, together with the
#'   low-rank matrix (Athey et al., 2021). A column that is the same in all periods, or `over(x,
#'   periods)`, has a coefficient *in each period*, since the units' effects would absorb a term
#'   with a constant coefficient. A regression on the donors estimates these coefficients.
#'   Regressors that, among the donors, are collinear with each other or with effects of units and
#'   periods cause an error. With `na = "interpolate"` gaps in regressors are filled like gaps in
#'   the outcome.
#'
#' Placebos, standard errors and leave-one-out fits use each unit's own covariates. [conformal()]
#' needs covariates that do not depend on which periods come before the treatment: regressors, or
#' columns that are the same in all periods; it refuses `"sdid"`. `"hsvt"` and `"elastic"` take no
#' covariates. `summary()` shows the balance of the covariates.
#' @references Kranz, S. (2022). Synthetic Difference-in-Differences with Time-Varying Covariates.
#'   Ulm University. Bai, J. (2009). Panel Data Models with Interactive Fixed Effects. Econometrica
#'   77.
#' @seealso [dp_synth()]
#' @name dp_synth_covariates
NULL

#' Intervals and tests of a synthetic control
#'
#' @section Intervals: An interval is for the effect on the target (the mean of `size` people),
#'   either on average or in a single period. The interval combines two errors: the prediction error
#'   for such a target, and the noise of the release. `privacy.se` is the standard deviation of the
#'   estimate over releases, after the estimate is shrunk to the target's own level and cut at the
#'   bounds. This standard deviation is computed to first order, and its square is increased by a
#'   fifth for higher orders. With `"gram"` the interval is *calibrated on the donors' own placebo
#'   errors*: each donor's post-treatment outcome is predicted from that donor's own past, and the
#'   second moment and the tails of these errors are released under the same budget. This
#'   calibration corresponds to the placebo test in space, and does not require normal data:
#'   outcomes may be costs or 0/1. Coverage is measured (`bench/battery.R` and
#'   `bench/results/battery.csv` in the source package), not proved. The target is assumed to be a
#'   person like the donors, or a mean of such people with independent prediction errors. A shock
#'   that hits the whole group counts as part of the group's effect. People who were chosen for
#'   their level before the treatment regress in part to the mean. With method `"gram"`, one
#'   adoption date and no covariates, the fit allows for this regression. The allowance is wrong for
#'   a group whose distance from the donors persists.
#'
#' The fit also measures the target's distance from the donors before the treatment, given the
#' target's level. The distance is relative to the distance of a random target of the same size, and
#' the interval of a group is longer if the target is farther from the donors than a random target
#' would be. If the squared distance is more than seven times its mean for random targets, the
#' print, the summary and the report note that few donors are like the target. The other donors may
#' then bias the estimate. This note hardly ever appears for random targets. The note appears for
#' nearly every group of 30 or more people from a minority (a tenth of 5,000 donors) with a distinct
#' path. A single person of such a minority can hardly be distinguished from the other donors
#' (`bench/selected.R` in the source package).
#'
#' If donors and budget do not suffice to calibrate an interval, there is no interval, and the print
#' gives the reason. At `epsilon = 1` and `delta = 1e-6` an interval needs about 220 donors for one
#' person, and about 430 for a mean of 20 people or more ([dp_plan()] gives the required number).
#' There is also no interval if the release was made with `dp_control(intervals = FALSE)`, or was
#' calibrated for another `estimator` or penalty. A release that was calibrated for means of at
#' least 20 people gives no interval for smaller targets. A release with few donors that was
#' calibrated for single people gives no interval for means of at least 20 people. Finally, there is
#' no interval for a mean of at least 20 people that varies far more before the treatment than the
#' released donors. In these cases `std.error`, limits and p-values are `NA`. Methods `"output"` and
#' `"objective"` do not release the donors' errors, so their limits allow for the noise alone and
#' are labelled accordingly.
#'
#' With `epsilon = Inf` intervals for `"ridge"` and `"did"` come from the donors' leave-one-out
#' errors. For one person these intervals are conformal: their coverage is valid for any
#' distribution of the errors if the target is drawn like the donors. An interval of level L needs
#' `L / (1 - L)` donors (19 donors for 95 %); with fewer donors there is no interval. For a mean the
#' intervals are normal, with the variance of the errors divided by `size`.
#'
#' @section Tests:
#' `print()` and `tidy()` test for an effect *on average*; `summary()` also tests for an effect *in
#' any period*. Choose the test before you look at the results.
#'
#' `conformal()` and `placebo_time()` use single pre-periods and need a release made with
#' `dp_control(features = Inf)`. Decide about these tests before the budget is spent, since another
#' release spends budget again. The tests in `summary()` and the limits by `confint()` do not
#' require `features = Inf`.
#' @seealso [dp_synth()], [confint()][effects.dp_synth()], [placebo_space()], [conformal()]
#' @name dp_synth_intervals
NULL
