# Makes data/clinic_panel.rda: blood pressure of simulated patients. Run from the package's root.
set.seed(20261121)
donors <- 3000L
months <- 24L
before <- 18L
effect <- -8

month <- seq(as.Date("2023-01-01"), by = "month", length.out = months)
season <- cos(2 * pi * (seq_len(months) - 1) / 12)
ar1 <- function(n, phi, sd) as.double(stats::filter(rnorm(n, sd = sd), phi, method = "recursive"))
drift <- cumsum(rnorm(months, 0.1, 0.3))
factor1 <- ar1(months + 50L, 0.9, 0.45)[-seq_len(50L)]

# A unit's path is a level, its share of the season, of the common drift and of the slow factor.
path <- function(level, season_share, drift_share, loading) {
  level + outer(season_share, season) + outer(drift_share, drift) + outer(loading, factor1)
}
patients <- path(
  rnorm(donors, 138, 11), rnorm(donors, 4, 1.5), rnorm(donors, 1, 0.4), rnorm(donors, 0, 2)
) + matrix(rnorm(donors * months, sd = 3), donors)
programme <- path(143, 5, 1.2, 2) + rnorm(months, sd = 3 / sqrt(60))
programme[-seq_len(before)] <- programme[-seq_len(before)] + effect

outcome <- rbind(patients, programme)
unit <- c(sprintf("patient-%04d", sample.int(9999L, donors)), "programme")
clinic_panel <- data.frame(
  patient = rep(unit, months),
  month = rep(month, each = donors + 1L),
  pressure = round(pmin(pmax(as.vector(outcome), 80), 200), 1),
  enrolled = as.integer(
    rep(unit, months) == "programme" & rep(month, each = donors + 1L) > month[before]
  )
)
clinic_panel <- clinic_panel[order(clinic_panel$patient, clinic_panel$month), ]
rownames(clinic_panel) <- NULL
save(clinic_panel, file = "data/clinic_panel.rda", compress = "xz", version = 3)
