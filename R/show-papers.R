# Help pages only: the papers under their own names, and the names by which other pages are found.
# tests/testthat/fixtures/paper-names.csv lists the names; test-papers-found.R searches for each.

#' The papers' algorithms: our calls, and the validity of their privacy
#'
#' This page lists each algorithm of the papers on which the package builds, with its name in the
#' paper, the call that runs it, whether its privacy holds as published, and our repairs. Calls with
#' `calibration = "published"` use a paper's own constants; if these are invalid, the result states
#' this and a [dp_ledger()] refuses it. Neighbouring (neighboring) data sets differ in one person's
#' row, which is replaced.
#'
#' @section Rho, Cummings and Misra (2023), Differentially Private Synthetic Control:
#' * Algorithm 1, synthetic control with ridge weights: `dp_synth(epsilon = Inf)`. Section 2.2,
#'   lasso and elastic-net weights: the same call with `estimator = "elastic"`.
#' * Algorithm 2, DPSC by output perturbation:
#'   `dp_synth(method = "output", calibration = "published")`. Its privacy holds as published, with
#'   12 to 29 times the necessary noise. `"tight"` uses exact sensitivities, [ridge_sensitivity()].
#' * Algorithm 3, DPSC by objective perturbation: `dp_synth(method = "objective")`. Its privacy does
#'   not hold as printed: the proof needs weights of bounded length. Our repair restricts the
#'   weights to a bounded set (`"tight"`).
#' * Theorems 3.2 and 3.5, bounds of the error: [paper_rmse_bound()], printed and corrected.
#' * Section 8.3, rejection sampling: no call, because the plain version is not private, and the
#'   private version has three times the noise.
#' * Section 8, figures 2 to 8: repeated in four versions; `panels.R` uses the authors' panels.
#'
#' Shown in: `vignette("reproduction")`, `vignette("errata")`; proofs `ridge.md` and `objective.md`.
#'
#' @section Chaudhuri, Monteleoni and Sarwate (2011), Private Empirical Risk Minimization:
#' * Algorithm 1, output perturbation: `dp_glm(method = "output")`.
#' * Algorithm 2, objective perturbation: `dp_glm(method = "cms")`. Its privacy holds; `"published"`
#'   counts one determinant twice.
#'
#' Shown in: `vignette("papers")`, `vignette("errata-papers")`; proof `papers.md`, sections 4 to 6.
#'
#' @section Kifer, Smith and Thakurta (2012), Private Convex Empirical Risk Minimization:
#' * Objective perturbation (Obj-Pert): `dp_glm(method = "kst")`. Its privacy holds, with another
#'   proof of the Gaussian step. `"objective-public"` uses tight constants.
#' * Hard constraints and regularisers without derivatives: `dp_glm(constraints = , penalty = )`
#'   by method `"objective"`.
#'
#' Shown in: `vignette("papers")`, `vignette("errata-papers")`; proofs `papers.md` and `glm.md`.
#'
#' @section Thakurta (2013), dissertation:
#' * Lemma 3.1, output perturbation: `dp_glm(method = "output", calibration = "published")`. Its
#'   privacy holds, with twice the necessary noise.
#' * Section 3.2.1, sample and aggregate (Smith; Nissim, Raskhodnikova and Smith): [dp_aggregate()].
#'   Its privacy holds.
#' * Theorem 3.20, excess risk: its ridge is a quarter of the ridge that Algorithm 4.1 needs. The
#'   bounds hold; they are 6 to 5,000 times the measured risks, and the bound of Theorem 3.29 is
#'   1.02 to 4.5 times the measured distance.
#' * Section 4.5 claims smaller errors than propose-test-release, and section 5.8.1 smaller errors
#'   than output perturbation. In our measurements the first claim holds, and the second does not.
#' * Algorithm 4.1, linear regression on a box: `dp_glm(family = "gaussian", method = "kst")`. Its
#'   privacy holds, with another proof. [dp_lm()], and `dp_glm(family = "gaussian", constraints =
#'   )`, have smaller errors.
#' * Algorithm 4.2, data-dependent ridge: no call, because its privacy does not hold as printed.
#'   Method `"objective"` of [dp_glm()] regularises in coordinates from released moments instead.
#' * Algorithms 5.1 to 5.4, private online convex programming (POCP), implicit gradient descent
#'   (PIGD), generalised infinitesimal gradient ascent (PGIGA), private offline learning (POffL):
#'   `dp_online(method = "pocp")`, `"pigd"`, `"pgiga"`, `"poffl"`. The sensitivities of the last two
#'   are repaired. The regret of the default methods is a fraction of the regret of these four.
#' * Follow the approximate leader with tree aggregation: `dp_online(method = "ftal")`,
#'   [dp_stream_sum()].
#' * Algorithm 6.1, A_samp: `dp_select(method = "subsamples")`, repaired;  `"blocks"` needs a sixth
#'   of the people.
#' * Algorithm 6.2, selection and then regression: `dp_select(refit = TRUE)`; its exponential
#'   mechanism over supports: `"exhaustive"`.
#' * Section 6.4 and Table 6.1, stability of the LASSO: `dp_select(method = "lasso")`. Its privacy
#'   does not hold as printed; the test is repaired.
#'
#' Shown in: `vignette("papers")`, `vignette("errata-papers")` and `vignette("errata-streams")`;
#' proofs `papers.md`, `streams.md` and `selection.md`.
#'
#' @section Wang (2018, 2019), AdaSSP and per-instance differential privacy (pDP):
#' * Per-instance losses and sensitivities: [pdp()], by exact formulas in place of Theorem 14, which
#'   is below the exact loss in places. The argument `newdata` of [pdp()] is for people outside the
#'   data; [pdp_compose()] is for several releases. Bounds by [pdp_bound()] may be published.
#'   `?pdp_rows` lists the fits without such losses, with reasons.
#' * One posterior sample (OPS): `dp_lm(method = "ops")`, with other constants. Logistic models are
#'   refused.
#' * Algorithm 1, AdaOPS: `dp_lm(method = "adaops")`, repaired. Its privacy does not hold as printed
#'   (`min` in place of `max`, and noise that is too small).
#' * AdaSSP: `reproduction/papers.R` contains the algorithm; [dp_lm()] takes its place.
#' * Proposition 9, the generalization bound of pDP losses: `summary(pdp(...))`. The bound is
#'   informative for losses below .347. Propositions 10 to 12: no call, see
#'   `vignette("errata-papers")`.
#' * Propositions 16 and 17: formula 9 is below the exact loss if the precision is 1 or less; the
#'   variance of 17.2 contains gamma in place of 1 / gamma.
#'
#' Shown in: `vignette("papers")`, `vignette("errata-papers")`; proofs `papers.md`, sections 2, 3
#' and 8, and `regression.md`.
#'
#' @section Li and Liu, NAPP-ERM (noise-augmented empirical risk minimization):
#' * NAPP-ERM: `dp_glm(method = "napp")`, logistic, linear (log-cosh) and counts (capped at the
#'   outcome's upper bound). Its privacy does not hold as printed, because of the length of the
#'   noise, a division by zero for the last two families, and a penalty that changes while the noise
#'   remains the same. Our repair uses stages with fresh noise. `calibration = "published"` has no
#'   guarantee, and the print states this.
#' * Dual-purpose regularisation and mitigated over-regularization (MOOR) with a lasso, elastic net
#'   or group penalty: `dp_glm(penalty = )` by method `"objective"`, where the penalty is part of
#'   the minimisation and costs nothing. Within `"napp"` a penalty that follows the estimate cannot
#'   be private (`papers.md`, sections 6 and 7). Without noise such a penalty works, with half of
#'   the weight (figure 3).
#' * Theorem 8, excess risk: the bound can be negative; the part from Thakurta's Lemma 3.19 holds.
#' * Theorem 10, sample complexity: the theorem does not hold for small errors, where its bound is
#'   negative. The repaired bound has constants for a ridge; `vignette("papers")` compares it with
#'   measured numbers of people.
#' * Figures 3 to 6, MOOR, ROC, prediction error and Adult: repeated with the printed and the
#'   repaired version.
#' * NAPP-VS (selection of variables), privacy budget retrieval and privacy budget recycling: no
#'   call, since they are not private (a sign without noise; a wrong factor of 2; noise used twice).
#'   Use [dp_select()] to select variables.
#'
#' Shown in: `vignette("papers")`, `vignette("errata-papers")`; proof `papers.md`, sections 6, 7
#' and 9.
#'
#' @section Accounting and noise:
#' * Canonne, Kamath and Steinke (2020), discrete Gaussian and Laplace mechanism: every integer
#'   release. Dong, Roth and Su (2022), Gaussian differential privacy: [gaussian_sigma()],
#'   [dp_ledger()].
#' * Redberg, Koskela and Wang (2023), objective perturbation: the basis of the default method of
#'   [dp_glm()].
#' * Dwork and Lei (2009), propose-test-release; Talwar, Thakurta and Zhang (2015), Frank-Wolfe:
#'   [dp_select()]. Honaker (2015) and Kairouz et al. (2021), trees and leaders: [dp_online()].
#'
#' Shown in: proofs `accounting.md`, `glm.md`, `selection.md`, `streams.md`.
#'
#' @section Locations: Proofs: `system.file("proofs", package = "dpsc")`. Results of the
#' reproduction: `system.file("reproduction", "results", package = "dpsc")`; its scripts:
#' `inst/reproduction` of the package's sources. Errata: `vignette("errata")`,
#' `vignette("errata-streams")` and `vignette("errata-papers")`, which ends with the list of results
#' that were not reproduced, with reasons. Measurements: `vignette("papers")`, and for the paper of
#' 2023 `vignette("reproduction")`.
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
#' `dp_glm()`, and flexsynth one called `dp_control()`. A call uses the package that was attached
#' last; write `dpsc::dp_glm()` to be explicit. The functions are not interchangeable. DPrivStats
#' calibrates its `dp_lm()` on a privately released eigenvalue, without a bound on the probability
#' that this value is too small, so its privacy is not guaranteed.
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
#' CRAN's DPrivStats exports functions called `dp_lm()` and `dp_glm()`, and flexsynth one called
#' `dp_control()`. A call uses the package that was attached last; write `dpsc::dp_lm()` to be
#' explicit. The functions are not interchangeable. DPrivStats calibrates its `dp_lm()` on a
#' privately released eigenvalue, without a bound on the probability that this value is too small,
#' so its privacy is not guaranteed.
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
