# The accounts of steps in a replay.

#' Steps by account: one person is in one group and affects the steps of that account only
#' @param account (`character` or `NULL`)\cr the account of each step; `NA`: of a row of sums.
#' @noRd
account_rows <- function(table, account) {
  if (is.null(account)) {
    return(table)
  }
  table$account <- account
  moved <- which(table$observed > 0 & !is.na(account))
  if (length(unique(account[moved])) > 1L) table$ratio[moved] <- Inf
  table
}
