#' dpsc: differentially private synthetic control
#'
#' One treated unit, a panel of donors who are people, and an honest statement about the effect of
#' the treatment that tells about any one donor no more than the budget `epsilon` allows.
#' [dp_synth()] is the main function; [dp_release()] makes the
#' private release alone; [dp_ledger()] keeps a budget over several releases; [sim_panel()]
#' simulates panels; [clinic_panel] is one.
#'
#' @section What is protected:
#' A donor's whole row (all periods). Two panels are neighbours when they differ in one donor's row;
#' the number of donors, the periods, the bounds and the target's own data are public.
#'
#' @references
#' Rho, S., Cummings, R. and Misra, V. (2023). Differentially Private Synthetic Control. AISTATS.
#'
#' Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential Privacy.
#' NeurIPS.
#'
#' Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy. Journal of the Royal
#' Statistical Society B 84.
#'
#' @keywords internal
#' @useDynLib dpsc, .registration = TRUE
#' @importFrom Rcpp evalCpp
#' @importFrom rlang %||%
"_PACKAGE"
