# Reference data are stored outside the package, in the folder named by DPSC_SHARED, or in a folder
# `shared` above the tests. Tests that need absent data are skipped.
shared_data <- function(name) {
  places <- Sys.getenv("DPSC_SHARED")
  folder <- normalizePath(testthat::test_path(), mustWork = FALSE)
  repeat {
    places <- c(places, file.path(folder, "shared"))
    if (dirname(folder) == folder) break
    folder <- dirname(folder)
  }
  places <- places[nzchar(places)]
  candidates <- c(file.path(places, "data", name), file.path(places, name))
  found <- candidates[file.exists(candidates)]
  if (length(found) == 0L) {
    testthat::skip(paste0("shared data ", name, " not found (set DPSC_SHARED)"))
  }
  found[[1L]]
}

shared_json <- function(name) {
  path <- shared_data(name)
  testthat::skip_if_not_installed("jsonlite")
  jsonlite::fromJSON(path, simplifyVector = FALSE)
}

# A matrix of units and times for one column of long data.
wide_panel <- function(data, unit, time, value) {
  tapply(data[[value]], list(data[[unit]], data[[time]]), mean)
}

# A non-private fit object with only the parts that the classical functions use.
classical_fit <- function(donors, target, T0, times = NULL, estimator = "simplex",
                          settings = list()) {
  structure(
    list(
      raw = list(donors = donors, target = target, T0 = T0, times = times), estimator = estimator,
      settings = settings
    ),
    class = c("dp_synth_classical", "dp_synth")
  )
}

split_target <- function(wide, name, T0) {
  list(
    donors = wide[rownames(wide) != name, , drop = FALSE], target = wide[name, , drop = FALSE],
    T0 = T0, times = as.integer(colnames(wide))
  )
}

california <- function() {
  data <- utils::read.csv(shared_data("smoking.csv"))
  c(split_target(wide_panel(data, "state", "year", "cigsale"), "California", 19), list(data = data))
}

basque <- function() {
  data <- utils::read.csv(shared_data("basque.csv"))
  data <- data[data$regionname != "Spain (Espana)", ]
  c(
    split_target(
      wide_panel(data, "regionname", "year", "gdpcap"), "Basque Country (Pais Vasco)", 15
    ),
    list(data = data)
  )
}

# Means of predictors over periods, as a matrix of units and predictors. `spec` is a list of
# list(column, periods).
predictor_means <- function(data, unit, spec) {
  vapply(spec, function(one) {
    values <- wide_panel(data, unit, "year", one[[1L]])[, as.character(one[[2L]]), drop = FALSE]
    rowMeans(values, na.rm = TRUE)
  }, numeric(length(unique(data[[unit]]))))
}

california_predictors <- function(panel) {
  spec <- list(
    list("lnincome", 1980:1988), list("retprice", 1980:1988), list("age15to24", 1980:1988),
    list("beer", 1984:1988), list("cigsale", 1988), list("cigsale", 1980), list("cigsale", 1975)
  )
  means <- predictor_means(panel$data, "state", spec)
  list(donors = means[rownames(panel$donors), ], target = means["California", ])
}

# The order in the example of package Synth: ordinary predictors first, then special predictors.
basque_predictors <- function(panel) {
  plain <- c(
    "school.illit", "school.prim", "school.med", "school.high", "school.post.high", "invest"
  )
  sectors <- c("agriculture", "energy", "industry", "construction", "services.venta",
    "services.nonventa")
  spec <- c(
    lapply(plain, list, 1964:1969), list(list("gdpcap", 1960:1969)),
    lapply(paste0("sec.", sectors), list, seq(1961, 1969, 2)), list(list("popdens", 1969))
  )
  means <- predictor_means(panel$data, "regionname", spec)
  list(
    donors = means[rownames(panel$donors), ], target = means["Basque Country (Pais Vasco)", ]
  )
}
