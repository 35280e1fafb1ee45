# Private generalised linear models on real data that follow no model exactly. Rows are drawn from
# a data set of AER, and glm() on the whole data set gives the truth. Not private: seeded.
#   length   length of rows: "rule" is the default, 0 weights short rows more, 4 is nearly glm()
#   error    root mean square error over coefficients and runs, in standard errors of glm() that
#            are valid under misspecification; `glm`: of glm() on the same rows
#   covers   share of true coefficients in 95 % intervals; `worst`: of one coefficient
#   sample   share of coefficients of glm() on the same rows in 95 % intervals of the privacy part
#   width    median standard error in standard errors of glm(); `needed`: half the width that the
#            observed errors need, in the stated standard errors
# DPSC_BENCH_SCALE multiplies the runs; DPSC_BENCH_PEOPLE and DPSC_BENCH_ONLY choose cells.
suppressMessages({
  library(dpsc)
  library(AER)
})
set.seed(27)
runs <- max(4, round(30 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))))
people <- as.numeric(strsplit(Sys.getenv("DPSC_BENCH_PEOPLE", "5000,20000,100000"), ",")[[1]])
data(list = c("PSID1976", "DoctorVisits", "NMES1988", "SwissLabor", "HMDA", "Affairs"))
yes <- c("no", "yes")

models <- list(
  Mroz = list(
    data = transform(PSID1976, work = as.numeric(participation == "yes"), income = fincome / 1000),
    f = work ~ age + education + experience + I(experience^2) + youngkids + oldkids + income,
    bounds = list(
      work = c(0, 1), age = c(18, 70), education = c(0, 20), experience = c(0, 50),
      youngkids = c(0, 5), oldkids = c(0, 10), income = c(0, 100)
    )
  ),
  Swiss = list(
    data = transform(SwissLabor, work = as.numeric(participation == "yes")),
    f = work ~ income + age + education + youngkids + oldkids + foreign,
    bounds = list(
      work = c(0, 1), income = c(5, 15), age = c(1, 8), education = c(0, 25), youngkids = c(0, 5),
      oldkids = c(0, 8), foreign = yes
    )
  ),
  HMDA = list(
    data = transform(HMDA, denied = as.numeric(deny == "yes")),
    f = denied ~ pirat + hirat + lvrat + afam + single + selfemp,
    bounds = list(
      denied = c(0, 1), pirat = c(0, 3), hirat = c(0, 3), lvrat = c(0, 2), afam = yes,
      single = yes, selfemp = yes
    )
  ),
  Affairs = list(
    data = transform(Affairs, any = as.numeric(affairs > 0)),
    f = any ~ gender + age + yearsmarried + children + religiousness + education + rating,
    bounds = list(
      any = c(0, 1), gender = c("female", "male"), age = c(15, 60), yearsmarried = c(0, 20),
      children = yes, religiousness = c(1, 5), education = c(5, 25), rating = c(1, 5)
    )
  ),
  DoctorVisits = list(
    family = "poisson", data = DoctorVisits,
    f = visits ~ gender + age + income + illness + reduced + health + private + nchronic + lchronic,
    bounds = list(
      visits = c(0, 20), gender = c("male", "female"), age = c(.1, 1), income = c(0, 2),
      illness = c(0, 10), reduced = c(0, 14), health = c(0, 12), private = yes, nchronic = yes,
      lchronic = yes
    )
  ),
  NMES = list(
    family = "poisson", data = NMES1988,
    f = visits ~ health + chronic + adl + age + gender + married + school + insurance,
    bounds = list(
      visits = c(0, 100), health = c("average", "poor", "excellent"), chronic = c(0, 10),
      adl = c("normal", "limited"), age = c(6, 12), gender = c("female", "male"), married = yes,
      school = c(0, 20), insurance = yes
    )
  )
)

sandwich_of <- function(fit) {
  x <- stats::model.matrix(fit)
  bread <- stats::summary.glm(fit)$cov.unscaled
  sqrt(diag(bread %*% crossprod(x * (fit$y - stats::fitted(fit))) %*% bread))
}

same_levels <- function(data, bounds) {
  for (name in names(bounds)) {
    if (is.character(bounds[[name]])) data[[name]] <- factor(data[[name]], bounds[[name]])
  }
  data
}

run_once <- function(model, n, length, truth, se) {
  data <- model$data[sample(nrow(model$data), n, replace = TRUE), ]
  own <- stats::coef(stats::glm(model$f, model$family, data))
  fit <- suppressWarnings(dp_glm(model$f, data, model$family,
    epsilon = 1, bounds = model$bounds,
    settings = if (is.null(length)) list() else list(length = length),
    control = dp_control(rng = "R")
  ))
  reach <- stats::qnorm(0.975)
  all <- sqrt(diag(vcov(fit)))
  off <- coef(fit) - truth
  cbind(
    error = off / se, glm = (own - truth) / se, covers = abs(off) < reach * all,
    sample = abs(coef(fit) - own) < reach * sqrt(diag(vcov(fit, "privacy"))), width = all / se,
    stated = off / all
  )
}

rows <- list()
only <- Sys.getenv("DPSC_BENCH_ONLY", paste(names(models), collapse = ","))
for (n in people) for (name in strsplit(only, ",")[[1]]) for (length in list(NULL, 0, 4)) {
  model <- models[[name]]
  model$family <- if (is.null(model$family)) "binomial" else model$family
  model$data <- same_levels(model$data, model$bounds)
  whole <- stats::glm(model$f, model$family, model$data)
  se <- sandwich_of(whole) * sqrt(nrow(model$data) / n)
  all <- replicate(runs, run_once(model, n, length, stats::coef(whole), se))
  mean_square <- function(what) sqrt(mean(all[, what, ]^2, na.rm = TRUE))
  row <- data.frame(
    model = name, n = n, length = if (is.null(length)) "rule" else format(length), runs = runs,
    error = mean_square("error"), glm = mean_square("glm"), covers = mean(all[, "covers", ]),
    worst = min(rowMeans(all[, "covers", ])), sample = mean(all[, "sample", ]),
    width = stats::median(all[, "width", ]),
    needed = unname(stats::quantile(abs(all[, "stated", ]), 0.95)) / stats::qnorm(0.975)
  )
  row[-(1:4)] <- lapply(row[-(1:4)], signif, 3)
  cat(paste(unlist(row), collapse = " "), "\n")
  rows <- c(rows, list(row))
  utils::write.csv(do.call(rbind, rows), "bench/results/glm-estimand.csv", row.names = FALSE)
}
