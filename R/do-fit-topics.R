# Help pages that supplement ?dp_synth: donors in other forms than long data, and single topics.

#' Synthetic control from a matrix of donors, from other sources, and from a release
#'
#' [dp_synth()] also takes the donors as a matrix, as [dp_chunks()] or in [dp_sources()], with the
#' target as a separate argument. Given a [dp_release()], it makes a further fit, which spends
#' nothing.
#'
#' @inheritParams dp_synth
#' @param x (`matrix`, [dp_chunks()], [dp_sources()] or [dp_release()])\cr donors, n x T (rows are
#'   donors), in outcome units (PRIVATE); or a release.
#' @param target (`numeric` of length T, or `matrix`, k x T)\cr the treated units' outcomes. PUBLIC.
#' @param T0 (`count`, or one for each row of `target`)\cr number of periods before the treatment,
#'   at least 2. Different values mean several adoption dates, see [dp_cohorts]. For a release by
#'   `"gram"`: the value in the release (the meaning of `NULL`) or a larger value.
#' @param times (`vector` of length T, or `NULL`)\cr the periods of a matrix; 1 to T if `NULL`.
#' @param lambda (`number` or `NULL`)\cr for a release by method `"gram"`: another penalty, see
#'   [dp_control()]; `NULL` averages over penalties. Another penalty costs nothing.
#' @param covariates (`numeric` or `matrix`, k x q)\cr the targets' covariates, if the release has
#'   covariates, in the order of its `panel$covariates$name`. PUBLIC.
#' @param weights (`numeric`, one per donor; `"last"`; or `name` of a column)\cr people's weights,
#'   as in [dp_synth()], with the same requirements. For [dp_chunks()] `"last"` means the last
#'   column of each block. For long data: the name of a column. PRIVATE.
#' @return As [dp_synth()].
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
#' Several treated units are a group, and `protect` states whose data are protected:
#' * `"donors"`: the donors' data are protected. The treated units' data are PUBLIC: the group's
#'   mean is published.
#' * `"everyone"`: the data of donors and treated people are protected. Neighbours differ in the
#'   whole row of one person, donor or treated; who is treated, from when, and all counts are
#'   public. Each group has the whole budget (adaptive parallel composition, `proofs/treated.md`).
#'   The donors' release then uses no target; the treated people's own release gives their noisy
#'   mean path, which is the fit's `target`, and the fit contains no treated person, no mean without
#'   noise and no name. From several hundred treated people on it costs little accuracy
#'   (`bench/results/protect.csv`); groups too small for the budget (about 40 people at `epsilon =
#'   1`) are refused. Effects in per cent are `NA` where the noise hides the counterfactual's level,
#'   as it usually does for 60 people at `epsilon = 1`. [conformal()], [placebo_time()],
#'   [penalty_path()] and [pdp()] are refused. With several adoption dates every cohort is such a
#'   group.
#' @seealso [dp_synth()], [dp_cohorts]
#' @name dp_synth_treated
NULL

#' Covariates of a synthetic control
#'
#' `outcome ~ treated | x1 + x2` adds columns of `data` to a person's row (`method = "gram"`,
#' estimator `"ridge"`). Each person has one value: for a number the mean before the treatment, with
#' each value clipped to the bounds first; for a factor or string the first known level. An unknown
#' level counts as the first declared level. No message depends on a protected person's covariates;
#' their presence counts as public, as for the outcome. A factor that varies within a public treated
#' unit, or within any unit if nothing is private, is an error. With several adoption dates "before
#' the treatment" means before the first date, for everybody.
#'
#' @section Covariates of classical estimators: Classical estimators are not private and need no
#'   bounds (any bounds given are ignored). A term may be computed from columns. Factors and strings
#'   become indicators of their levels.
#' * `"simplex"`, `"demeaned"`, `"penalised"`, `"augmented"` and `"predictors"` balance *one value
#'   per unit*: the mean over the periods before the (first) treatment, or over the periods named in
#'   `over(x, 1980:1985)`. `"predictors"` fits these means alone, by importances V; the others fit
#'   all outcomes before the treatment together with these means, each scaled to the outcomes'
#'   standard deviation, so that with importance 1 a covariate counts as one period. The argument
#'   `v` of [dp_control()] sets importances, except for `"augmented"`.
#' * `"sdid"`, `"factor"` and `"mcnnm"` take **regressors**. These must be known in every period,
#'   and after the treatment the treatment must not change them. A column that changes over time has
#'   one coefficient, stored in the fit's `slopes`. `"sdid"` estimates this coefficient by least
#'   squares with effects of units and periods, on all cells that are not treated, and is then
#'   fitted to the residuals (Kranz, 2022). `"factor"` estimates it together with the donors'
#'   factors (Bai, 2009; Xu, 2017), and `"mcnnm"` together with the low-rank matrix, without a
#'   penalty on the coefficient (Athey et al., 2021). A column that is the same in all periods, or
#'   `over(x, periods)`, has a coefficient *in each period*, since the unit's effect would absorb a
#'   constant coefficient; the donors' regression gives its contribution for the target. Regressors
#'   that are collinear among the donors, with effects of units and periods or with other
#'   regressors, are an error. With `na = "interpolate"` gaps in regressors are filled like gaps in
#'   the outcome.
#'
#' Placebos, standard errors and leave-one-out fits use each unit's own covariates. [conformal()]
#' needs covariates that do not depend on which periods come before the treatment: regressors, or
#' columns that are the same in all periods. `"hsvt"` and `"elastic"` take no covariates.
#' `summary()` shows the balance.
#' @references Kranz, S. (2022). Synthetic Difference-in-Differences with Time-Varying Covariates.
#'   Ulm University. Bai, J. (2009). Panel Data Models with Interactive Fixed Effects. Econometrica
#'   77.
#' @seealso [dp_synth()]
#' @name dp_synth_covariates
NULL

#' Intervals and tests of a synthetic control
#'
#' @section Intervals: A 95 % interval is for the effect on the target (the mean of `size` people),
#'   on average or in a single period. It combines two errors: the prediction error for such a
#'   target, and the noise of the release. `privacy.se` is the standard deviation of the estimate
#'   over releases, after the estimate is shrunk to the target's own level and cut at the bounds. It
#'   is computed to first order, and its square is increased by a fifth for higher orders. With
#'   `"gram"` the interval is *calibrated on the donors' own placebo errors*: each donor's
#'   post-treatment outcome is predicted from that donor's own past, and the errors' second moment
#'   and tails are released under the same budget. This calibration is the placebo test in space,
#'   and is valid for 0/1 outcomes, costs and other data that are far from normal. Coverage is
#'   measured (`bench/battery.R` of the sources, `bench/results/battery.csv`), not proved: the
#'   target is assumed to be a unit like the donors, or a mean of such people with independent
#'   prediction errors. A shock that hits the whole group is part of its effect. People who were
#'   chosen for their level before the treatment regress in part to the mean. The fit allows for
#'   this (method `"gram"`, one adoption date, no covariates); the allowance is wrong for a group
#'   whose distance from the donors will last.
#'
#' The fit also measures the target's distance from the donors before the treatment, given its
#' level, relative to that distance for a random target of its size. The interval of a group grows
#' with this distance. From seven times the mean square on, the print, the summary and the report
#' note that few donors are like the target: the other donors may then bias the estimate. This note
#' hardly ever appears for random targets. It appears for nearly every group of 30 or more people
#' from a minority (a tenth of 5,000 donors) with a distinct path; a single person of such a
#' minority can hardly be distinguished from the others (`bench/selected.R` of the sources).
#'
#' There is no interval, and the print gives the reason, if donors and budget cannot calibrate one.
#' At `epsilon = 1` and `delta = 1e-6` an interval needs about 220 donors for one person, and about
#' 430 for a mean of 20 people or more ([dp_plan()] gives the numbers needed). There is also no
#' interval if the release was calibrated for another `estimator` or penalty, or for single people
#' when a mean is requested. In these cases `std.error`, limits and p-values are `NA`. Methods
#' `"output"` and `"objective"` do not release the donors' errors: their limits cover the noise
#' alone and are labelled accordingly.
#'
#' With `epsilon = Inf` intervals come from the donors' leave-one-out errors. For one person these
#' intervals are conformal: they have their coverage for any distribution of the errors if the
#' target is drawn like the donors. A level L needs `L / (1 - L)` donors, so 95 % needs 19; with
#' fewer donors there is no interval. For a mean the intervals are normal, with the variance of the
#' errors divided by `size`.
#'
#' @section Tests:
#' `print()` and `tidy()` test for an effect *on average*; `summary()` also tests for an effect *in
#' any period*. Choose the test before you look at the results.
#'
#' `conformal()` and `placebo_time()` use single pre-periods and need a release made with
#' `dp_control(features = Inf)`; decide before the budget is spent, since another release spends
#' budget again. The placebo test in `summary()` and the limits by `confint()` are available for
#' every release by `"gram"`.
#' @seealso [dp_synth()], [confint()][effects.dp_synth()], [placebo_space()], [conformal()]
#' @name dp_synth_intervals
NULL
