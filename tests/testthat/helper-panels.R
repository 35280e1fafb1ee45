# A panel with values in [-1, 1], as matrices and as long data (rows shuffled). The donors' rows are
# in the order of their names, in which read_panel() sorts them. The columns of `data` are unit
# (character), time (integer), y, treated (0/1).
toy_panel <- function(n = 5, T0 = 4, T1 = 2, k = 1, seed = 1) {
  withr::local_seed(seed)
  periods <- T0 + T1
  times <- 2000L + seq_len(periods)
  donors <- matrix(stats::runif(n * periods, -1, 1), n)
  target <- matrix(
    stats::runif(k * periods, -1, 1), k,
    dimnames = list(sprintf("target%02d", seq_len(k)), NULL)
  )
  units <- c(sprintf("donor%05d", seq_len(n)), rownames(target))
  data <- data.frame(
    unit = rep(units, periods), time = rep(times, each = n + k), y = c(rbind(donors, target)),
    treated = as.numeric(outer(
      seq_along(units), seq_len(periods), function(i, t) i > n & t > T0
    ))
  )
  data <- data[sample.int(nrow(data)), ]
  rownames(data) <- NULL
  list(
    data = data, donors = donors, target = target, times = times, T0 = T0, T1 = T1, n = n, k = k,
    units = units
  )
}

# The panel of long data as a verb builds it, with gaps if a roster is given. Omitted arguments
# count as not supplied.
read_panel <- function(formula, data, index, roster = NULL, bounds = NULL, covariates = NULL,
                       private = TRUE, hide = FALSE, keep_names = FALSE) {
  people <- panel_people(data, index, if (is.null(roster)) "error" else "interpolate", roster)
  people[c("bounds", "covariates")] <- list(bounds, covariates)
  request <- plain_request(hide)
  request[c("private", "keep_names")] <- list(private, keep_names)
  panel_with_gaps(formula, people, request)
}

# Whether the serialized object contains this text or number.
holds_text <- function(object, text) {
  length(grepRaw(charToRaw(text), serialize(object, NULL), fixed = TRUE)) > 0
}
holds_number <- function(object, number) {
  bytes <- writeBin(number, raw(), endian = "big")
  length(grepRaw(bytes, serialize(object, NULL), fixed = TRUE)) > 0
}

# Every condition that code signals until it ends or fails, except conditions muffled inside.
signalled <- function(code) {
  conditions <- list()
  tryCatch(
    withCallingHandlers(code, condition = function(c) conditions <<- c(conditions, list(c))),
    error = function(e) NULL
  )
  conditions
}
