#' dpsc: differentially private synthetic control
#'
#' For one treated unit and a panel of donors who are people, the package estimates the effect of
#' the treatment and reveals no more about any one donor than the budget `epsilon` allows.
#' [dp_synth()] is the main function, [dp_release()] makes only the private release, and
#' [dp_ledger()] tracks a budget over several releases. [sim_panel()] simulates panels, and
#' [clinic_panel] is a simulated panel.
#'
#' @section Functions:
#' * Synthetic control: [dp_synth()], [dp_cohorts()], [dp_outcomes()], [dp_monitor()],
#'   [dp_release()], [combine_releases()].
#' * Regression: [dp_lm()], [dp_glm()], [lm_path()].
#' * Other statistics of people: [dp_describe()], [dp_aggregate()].
#' * Selection of variables: [dp_select()].
#' * Streams: [dp_online()], [dp_stream_sum()].
#' * Plans before the data are seen: [dp_plan()], [dp_plan_lm()], [dp_plan_glm()],
#'   [dp_plan_select()], [dp_explore()].
#' * Budgets, losses and audits: [dp_ledger()], [dp_audit()], [audit_mechanism()], [pdp()],
#'   [pdp_bound()], [gaussian_sigma()], [ridge_sensitivity()], [paper_rmse_bound()].
#' * Sources of people's rows: [dp_files()], [dp_chunks()], [dp_table()], [dp_sources()],
#'   [dp_roster()].
#'
#' The page [papers] lists the algorithms of the papers by the papers' names, with the calls that
#' run these algorithms. `vignette("papers")` and `vignette("reproduction")` check the papers'
#' claims; `vignette("errata")`, `vignette("errata-streams")` and `vignette("errata-papers")` list
#' the papers' errors.
#'
#' @section Protected data: A donor's whole row, with all periods, is protected. Two panels are
#' neighbours if replacing one donor's row turns one panel into the other. The number of donors, the
#' periods, the bounds and the target's own data are public.
#'
#' @section Installing: Installation from source compiles the C++ core. Compilation takes 3 minutes
#' on one processor core, or 2 minutes on two (with `MAKEFLAGS=-j2` in the environment), and needs
#' up to 1 GB of memory per file.
#'
#' @references
#' Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control. AISTATS.
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential Privacy.
#' NeurIPS.
#'
#' Chaudhuri, K., Monteleoni, C. and Sarwate, A. (2011). Differentially Private Empirical Risk
#' Minimization. Journal of Machine Learning Research 12.
#'
#' Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy. Journal of the Royal
#' Statistical Society B 84.
#'
#' Kifer, D., Smith, A. and Thakurta, A. (2012). Private Convex Empirical Risk Minimization and
#' High-dimensional Regression. COLT.
#'
#' Li, Y. and Liu, F. (2021). Noise-Augmented Privacy-Preserving Empirical Risk Minimization with
#' Dual-purpose Regularizer and Privacy Budget Retrieval and Recycling. arXiv.
#'
#' Thakurta, A. (2013). Differentially Private Convex Optimization for Empirical Risk Minimization
#' and High-dimensional Regression. Dissertation, The Pennsylvania State University.
#'
#' Wang, Y.-X. (2019). Per-instance Differential Privacy. Journal of Privacy and Confidentiality 9.
#'
#' @keywords internal
#' @useDynLib dpsc, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom rlang %||%
"_PACKAGE"
