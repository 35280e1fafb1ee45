# Help on data preparations.

#' Data preparations that preserve the guarantee
#'
#' A private fit starts from the given rows. **One person in, one row out**: a person's prepared row
#' may depend on that person's own data and on public facts, and on nobody else's data. Otherwise
#' one person affects everybody's row, and the guarantee no longer protects people. No result would
#' show this fault.
#'
#' @section Permitted preparations:
#'   * scale: `log(y)`, `y / 1000`, values per head by published numbers of inhabitants;
#'   * outliers: known limits, such as `pmin(y, 500)` (values are clipped to `bounds` in any case);
#'   * gaps: the person's own last value, or the middle of the bounds;
#'   * trend and season: differences or averages of the person's own values;
#'   * donors: a list that was made before the study, from public facts;
#'   * bounds: the scale of the instrument, the law, earlier publications;
#'   * periods: the calendar.
#'
#' @section Forbidden preparations:
#'   * scale: `scale(y)`, `y / max(y)`, ranks, an index with the donors' mean as 100;
#'   * outliers: winsorising at quantiles of the sample;
#'   * gaps: the month's mean, or imputation from other people;
#'   * trend and season: subtracting the donors' mean of each month;
#'   * donors: omitting people with gaps, extreme values or a poor fit before the treatment;
#'   * bounds: `range(y)`, quantiles, a look at the histogram;
#'   * periods: the periods in which everybody has a value.
#'
#' Row-by-row preparations can be part of the formula, as in `log(pmin(y, 190)) ~ treated`;
#' functions that use several rows are refused in a formula. A column of `data` is accepted
#' unchecked, since its origin cannot be checked. For examples see `vignette("preparing-data")`, if
#' vignettes are installed.
#'
#' @section Gaps: With `na = "interpolate"` the gaps of every row are filled separately: by linear
#'   interpolation between the row's own values, by the row's first value at its start and its last
#'   value at its end, and by the middle of the bounds if the row has no value before the treatment.
#'   A person's rows outside the `roster` are omitted; if a person has several rows in one period,
#'   only the first row counts. No number, message or warning reveals the places of gaps. Rows of
#'   people who leave early stay constant, which biases the effect towards its value at the time of
#'   leaving. No interval allows for this bias.
#' @name preparing_data
NULL
