#' Simulated blood pressure of patients before and after a programme
#'
#' Monthly blood pressure of 3,000 patients who never joined a programme, and the published monthly
#' mean of 60 patients who joined it. The target is a mean of 60 people, so give `size = 60`. All
#' data are simulated. Each patient's outcome is the sum of a personal level, noise, and personal
#' multiples of three common series (a season, a drift and a slow factor). **The programme lowers
#' the group's mean by 8 mmHg** from the nineteenth month on. Appropriate public bounds are `c(80,
#' 200)`, the limits of plausible readings.
#'
#' @format A data frame with 72,024 rows (3,001 units in 24 months) and 4 columns:
#' \describe{
#'   \item{patient}{unit: a patient's number, or `"programme"` for the treated group}
#'   \item{month}{first day of the month, `Date`, January 2023 to December 2024}
#'   \item{pressure}{mean systolic blood pressure of the month, mmHg}
#'   \item{enrolled}{1 for the programme's group from July 2024 on, otherwise 0}
#' }
#' @source Simulated by `data-raw/clinic_panel.R`.
#' @examples
#' fit <- dp_synth(pressure ~ enrolled,
#'   data = clinic_panel, index = c("patient", "month"),
#'   epsilon = 1, delta = 1e-6, bounds = c(80, 200), size = 60
#' )
#' fit
"clinic_panel"
