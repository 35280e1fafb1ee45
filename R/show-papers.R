# Help pages only: the papers under their names, and the names by which other pages are found.
# tests/testthat/fixtures/paper-names.csv lists the names; test-papers-found.R searches for each of
# them.

#' Algorithms of the papers, the calls that run them, and their privacy
#'
#' This page lists each algorithm of the papers on which the package builds: its name in the paper,
#' the call that runs the algorithm, whether the published privacy guarantee is valid, and our
#' corrections. Calls with `calibration = "published"` use the constants of the paper. If these
#' constants are invalid, the result states this fact and a [dp_ledger()] refuses the call. In
#' neighbouring (neighboring) data sets one person's row is replaced.
#'
#' @section Rho, Cummings and Misra (2023), Differentially Private Synthetic Control:
#' * Algorithm 1, synthetic control with ridge weights: `dp_synth(epsilon = Inf)`.
#' * Section 2.2, lasso and elastic-net weights: `dp_synth(epsilon = Inf, estimator = "elastic")`.
#' * Algorithm 2, DPSC by output perturbation:
#'   `dp_synth(method = "output", calibration = "published")`. The published guarantee is valid, but
#'   the noise of the weights is 12 times the necessary noise for 10 donors and 29 times for 100
#'   donors (with `lambda` equal to `T0`). `"tight"` uses exact sensitivities from
#'   [ridge_sensitivity()].
#' * Algorithm 3, DPSC by objective perturbation: `dp_synth(method = "objective")`. The published
#'   guarantee is not valid, since its proof needs bounded weights but the weights are unbounded.
#'   Our correction restricts the weights to a bounded set (`"tight"`).
#' * Theorems 3.2 and 3.5, bounds on the error: [paper_rmse_bound()], in the published and in a
#'   corrected form.
#' * Section 8.3, rejection sampling: no call, because the simple version is not private, and the
#'   private version needs about three times the noise of a single draw.
#' * Section 8, figures 2 to 8: reproduced with the correct noise of the algorithms, with the noise
#'   of the authors' public code, with `"tight"` constants, and with method `"gram"`. The script
#'   `panels.R` of the reproduction uses the authors' panels.
#'
#' Details: `vignette("reproduction")`, `vignette("errata")`; proofs `ridge.md` and `objective.md`.
#'
#' @section Chaudhuri, Monteleoni and Sarwate (2011), Private Empirical Risk Minimization:
#' * Algorithm 1, output perturbation: `dp_glm(method = "output")`.
#' * Algorithm 2, objective perturbation: `dp_glm(method = "cms")`. The published guarantee is
#'   valid; `"published"` counts one determinant twice.
#'
#' Details: `vignette("papers")`, `vignette("errata-papers")`; proof `papers.md`, sections 4 to 6.
#'
#' @section Kifer, Smith and Thakurta (2012), Private Convex Empirical Risk Minimization:
#' * Objective perturbation (Obj-Pert): `dp_glm(method = "kst")`. The guarantee is valid, but the
#'   Gaussian step needs another proof. `"objective-public"` uses tight constants.
#' * Hard constraints and non-differentiable regularisers: `dp_glm(constraints = , penalty = )` with
#'   method `"objective"`.
#'
#' Details: `vignette("papers")`, `vignette("errata-papers")`; proofs `papers.md` and `glm.md`.
#'
#' @section Thakurta (2013), dissertation:
#' * Lemma 3.1, output perturbation: `dp_glm(method = "output", calibration = "published")`. The
#'   published guarantee is valid, with twice the necessary noise.
#' * Section 3.2.1, sample and aggregate (Smith; Nissim, Raskhodnikova and Smith): [dp_aggregate()].
#'   The published guarantee is valid.
#' * Theorem 3.20, excess risk: the ridge of this theorem is a quarter of the ridge that Algorithm
#'   4.1 needs. In our simulations the bounds are valid, and are 6 to 5,200 times the measured
#'   risks. The bound of Theorem 3.29 is 1.02 to 4.5 times the measured distance.
#' * Section 4.5, claim of smaller errors than by propose-test-release: most of our measurements
#'   confirm this claim.
#' * Section 5.8.1, claim of smaller errors than by output perturbation: our measurements contradict
#'   this claim.
#' * Algorithm 4.1, linear regression with coefficients in a box:
#'   `dp_glm(family = "gaussian", method = "kst")`. The guarantee is valid, but needs another proof.
#'   [dp_lm()] and `dp_glm(family = "gaussian", constraints = )` give smaller errors.
#' * Algorithm 4.2, data-dependent ridge: no call, because the published guarantee is not valid.
#'   Method `"objective"` of [dp_glm()] instead regularises in coordinates that are computed from
#'   released moments.
#' * Algorithms 5.1 to 5.4, private online convex programming (POCP), implicit gradient descent
#'   (PIGD), generalised infinitesimal gradient ascent (PGIGA), private offline learning (POffL):
#'   `dp_online(method = "pocp")`, `"pigd"`, `"pgiga"`, `"poffl"`. The sensitivities of PGIGA and
#'   POffL are corrected. In `bench/results/streams.csv` the regret of the default method is .4 to
#'   85 % of the regret of the first three algorithms.
#' * Follow the approximate leader with tree aggregation: `dp_online(method = "ftal")`,
#'   [dp_stream_sum()].
#' * Algorithm 6.1, A_samp: `dp_select(method = "subsamples")`, corrected. Method `"blocks"` needs
#'   at most a sixth as many people.
#' * Algorithm 6.2, selection and then regression: `dp_select(refit = TRUE)`. Method `"exhaustive"`
#'   is the exponential mechanism over supports in this algorithm.
#' * Section 6.4 and Table 6.1, stability of the LASSO: `dp_select(method = "lasso")`, with a
#'   corrected test. The published guarantee is not valid.
#'
#' Details: `vignette("papers")`, `vignette("errata-papers")` and `vignette("errata-streams")`;
#' proofs `papers.md`, `streams.md` and `selection.md`.
#'
#' @section Wang (2018, 2019), AdaSSP and per-instance differential privacy (pDP):
#' * Per-instance losses and sensitivities: [pdp()], by exact formulas in place of the formula of
#'   Theorem 14, which for some rows is below the exact loss. The argument `newdata` of [pdp()] is
#'   for people outside the data, and [pdp_compose()] is for several releases. Bounds by
#'   [pdp_bound()] may be published. [pdp_rows] lists the fits without per-instance losses, with
#'   reasons.
#' * One posterior sample (OPS): `dp_lm(method = "ops")`, with corrected constants. Logistic models
#'   are refused.
#' * Algorithm 1, AdaOPS: `dp_lm(method = "adaops")`, corrected. The published guarantee is not
#'   valid, because of `min` in place of `max`, and because the noise is too small.
#' * AdaSSP: no call; the script `papers.R` of the reproduction contains the algorithm. Use
#'   [dp_lm()] instead.
#' * Proposition 9, the generalization bound from pDP losses: `summary(pdp(...))`. If all losses are
#'   equal and `delta = 0`, the bound is informative (below 1) for losses below .347.
#' * Propositions 10 to 12: no call, see `vignette("errata-papers")`.
#' * Propositions 16 and 17: formula 9 is below the exact loss if the precision is at most 1, and
#'   the variance in Proposition 17.2 contains gamma in place of 1 / gamma.
#'
#' Details: `vignette("papers")`, `vignette("errata-papers")`; proofs `papers.md`, sections 2, 3 and
#' 8, and `regression.md`.
#'
#' @section Li and Liu, NAPP-ERM (noise-augmented empirical risk minimization):
#' * NAPP-ERM: `dp_glm(method = "napp")`, for logistic regression, linear regression (log-cosh loss)
#'   and counts (capped at the outcome's upper bound). The published guarantee is not valid, for
#'   three reasons: the length of the noise, a division by zero for linear regression and counts,
#'   and a penalty that changes while the noise remains the same. Our correction uses stages with
#'   fresh noise. `calibration = "published"` gives no guarantee, and the printed fit states this
#'   fact.
#' * Dual-purpose regularisation and mitigated over-regularization (MOOR) with a lasso, elastic net
#'   or group penalty: `dp_glm(penalty = )` with method `"objective"`, where the penalty is part of
#'   the minimisation and costs nothing. Within `"napp"` a penalty that depends on the estimate
#'   cannot be private (`papers.md`, sections 6 and 7). Without noise such a penalty works as
#'   intended if its weight is halved (figure 3).
#' * Theorem 8, excess risk: the bound can be negative, but the part from Thakurta's Lemma 3.19 is
#'   valid.
#' * Theorem 10, sample complexity: the theorem is not valid for small errors, where its bound is
#'   negative. We give a corrected bound with constants for a ridge, and `vignette("papers")`
#'   compares this bound with measured numbers of people.
#' * Figures 3 to 6 (MOOR, ROC curves, prediction error and the Adult data): reproduced with the
#'   published and the corrected version.
#' * NAPP-VS (selection of variables): no call, because a sign is released without noise. Use
#'   [dp_select()] to select variables.
#' * Privacy budget retrieval: no call, because a factor of 2 is wrong and the method is not
#'   private.
#' * Privacy budget recycling: no call, because noise is used twice and the method is not private.
#'
#' Details: `vignette("papers")`, `vignette("errata-papers")`; proof `papers.md`, sections 6, 7 and
#' 9.
#'
#' @section Accounting and noise:
#' * Canonne, Kamath and Steinke (2020), discrete Gaussian and Laplace mechanism: every release with
#'   integer noise.
#' * Dong, Roth and Su (2022), Gaussian differential privacy: [gaussian_sigma()], [dp_ledger()].
#' * Redberg, Koskela and Wang (2023), objective perturbation: the basis of the default method of
#'   [dp_glm()].
#' * Dwork and Lei (2009), propose-test-release: [dp_select()].
#' * Talwar, Thakurta and Zhang (2015), private Frank-Wolfe: [dp_select()].
#' * Honaker (2015), estimates from binary trees: [dp_online()].
#' * Kairouz et al. (2021), follow the regularised leader: [dp_online()].
#'
#' Details: proofs `accounting.md`, `glm.md`, `selection.md` and `streams.md`.
#'
#' @section Locations: The proofs are in `system.file("proofs", package = "dpsc")`. The results of
#' the reproduction are in `system.file("reproduction", "results", package = "dpsc")`, and its
#' scripts in `inst/reproduction` of the package's sources. Errata are in `vignette("errata")`,
#' `vignette("errata-streams")` and `vignette("errata-papers")`; the last article ends with the list
#' of results that were not reproduced, with reasons. Measurements are in `vignette("papers")`, and
#' for the paper of Rho, Cummings and Misra (2023) in `vignette("reproduction")`.
#' @name papers
#' @aliases errata reproduction
#' @keywords documentation
#' @concept Rho
#' @concept Cummings
#' @concept Misra
#' @concept Chaudhuri
#' @concept Monteleoni
#' @concept Sarwate
#' @concept Kifer
#' @concept Smith
#' @concept Thakurta
#' @concept Wang
#' @concept Yinan Li
#' @concept Fang Liu
#' @concept Canonne
#' @concept Kamath
#' @concept Steinke
#' @concept Dong
#' @concept Roth
#' @concept Dwork
#' @concept Jing Lei
#' @concept Nissim
#' @concept Raskhodnikova
#' @concept Redberg
#' @concept Koskela
#' @concept Kairouz
#' @concept Honaker
#' @concept Talwar
#' @concept NAPP-VS
#' @concept privacy budget retrieval
#' @concept privacy budget recycling
#' @concept MOOR
#' @concept Laplace mechanism
#' @concept generalization bound
#' @concept generalisation bound
#' @concept neighboring data sets
#' @concept neighbouring data sets
#' @concept excess risk
#' @concept errata
#' @concept reproduction
NULL

#' @name dp_synth
#' @concept DPSC
#' @concept DPSC_out
#' @concept DPSC_obj
#' @concept synthetic control
NULL

#' @name dp_glm
#' @section Same names in other packages: CRAN's DPrivStats exports functions called `dp_lm()` and
#' `dp_glm()`, and flexsynth exports a function called `dp_control()`. A call uses the package that
#' was attached last, so write `dpsc::dp_glm()` to be explicit. The functions are not
#' interchangeable. DPrivStats calibrates its `dp_lm()` on a privately released eigenvalue, without
#' a bound on the probability that this value is too small, so its privacy is not guaranteed.
#' @concept output perturbation
#' @concept objective perturbation
#' @concept Obj-Pert
#' @concept KST
#' @concept CMS
#' @concept NAPP-ERM
#' @concept NAPP
#' @concept noise augmentation
#' @concept DP-ERM
#' @concept empirical risk minimization
#' @concept empirical risk minimisation
#' @concept regularization
#' @concept regularisation
#' @concept dual-purpose regularization
#' @concept dual-purpose regularisation
#' @concept strong convexity
#' @concept hard constraints
#' @concept lasso
#' @concept elastic net
#' @concept group lasso
#' @concept logistic regression
#' @concept Poisson regression
#' @concept high-dimensional regression
NULL

#' @name dp_lm
#' @section Same names in other packages:
#' CRAN's DPrivStats exports functions called `dp_lm()` and `dp_glm()`, and flexsynth exports a
#' function called `dp_control()`. A call uses the package that was attached last, so write
#' `dpsc::dp_lm()` to be explicit. The functions are not interchangeable. DPrivStats calibrates its
#' `dp_lm()` on a privately released eigenvalue, without a bound on the probability that this value
#' is too small, so its privacy is not guaranteed.
#' @concept OPS
#' @concept one posterior sample
#' @concept posterior sampling
#' @concept AdaOPS
#' @concept AdaSSP
#' @concept sufficient statistics perturbation
#' @concept linear regression
#' @concept ridge regression
NULL

#' @name dp_online
#' @concept POCP
#' @concept PIGD
#' @concept PGIGA
#' @concept POffL
#' @concept implicit gradient descent
#' @concept generalized infinitesimal gradient ascent
#' @concept generalised infinitesimal gradient ascent
#' @concept follow the approximate leader
#' @concept private offline learning
#' @concept online convex programming
#' @concept regret
#' @concept online learning
NULL

#' @name dp_stream_sum
#' @concept tree aggregation
#' @concept binary tree mechanism
NULL

#' @name dp_aggregate
#' @concept sample and aggregate
#' @concept subsample and aggregate
#' @concept sample-and-aggregate
NULL

#' @name dp_select
#' @concept A_samp
#' @concept exponential mechanism
#' @concept propose-test-release
#' @concept stability of the LASSO
#' @concept Frank-Wolfe
#' @concept support selection
#' @concept variable selection
#' @concept model selection
#' @concept sparse regression
#' @concept k-stability
NULL

#' @name pdp
#' @concept per-instance differential privacy
#' @concept pDP
#' @concept per-instance sensitivity
#' @concept leverage
#' @concept personalized privacy
#' @concept personalised privacy
NULL

#' @name ridge_sensitivity
#' @concept sensitivity
NULL

#' @name gaussian_sigma
#' @concept Gaussian mechanism
#' @concept Gaussian differential privacy
NULL

#' @name paper_rmse_bound
#' @concept RMSE bound
NULL

#' @name dp_ledger
#' @concept composition
#' @concept privacy budget
NULL
