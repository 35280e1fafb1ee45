# The papers' methods of dp_glm(): regressions in public units that release coefficients only. Core:
# inst/include/dpsc/mechanism/papers.hpp; proofs: inst/proofs/papers.md.

#' Records of the papers' methods
#' @noRd
paper_mechanisms <- function() {
  proof <- function(theorem, words) {
    paste0(words, " (proofs/papers.md, Theorem ", theorem, ")")
  }
  both <- c("tight", "published")
  list(
    output = paper_glm("output", "output perturbation", both, "ridge", c(
      tight = proof(4, "sensitivity of the minimiser, which is 2 / ridge"),
      published = proof(4, "Lemma 3.1 of Thakurta (2013), with twice the necessary noise")
    ), losses = output_row_losses),
    `objective-public` = paper_glm("objective", "objective perturbation in public coordinates",
      "tight", "ridge", c(
        tight = proof(5, "objective perturbation, by slope and curvature of a record at one point")
      )),
    kst = paper_glm("kst", "objective perturbation of Kifer, Smith and Thakurta (2012)", both,
      "ridge", c(
        tight = proof(6, "Kifer, Smith and Thakurta (2012), with a repaired and tighter proof"),
        published = proof(6, "Kifer, Smith and Thakurta (2012), with a repaired proof")
      ), families = c("binomial", "gaussian"), own = list(gaussian = "box"),
      words = c(gaussian = "Linear regression on a box")),
    cms = paper_glm("cms", "objective perturbation of Chaudhuri, Monteleoni and Sarwate (2011)",
      both, "ridge", c(
        tight = proof(6, "Chaudhuri, Monteleoni and Sarwate (2011), with only one determinant"),
        published = proof(6, "Chaudhuri, Monteleoni and Sarwate (2011), Algorithm 2")
      )),
    napp = paper_glm("napp", "NAPP-ERM of Li and Liu", both, c("ridge", "stages"), c(
      tight = proof(7, "stages with fresh noise and a joint calibration"), published = ""
    ),
    families = c("binomial", "poisson", "gaussian"), own = list(gaussian = "tau"),
    broken = c(published = paste(
      "Published NAPP-ERM draws its noise from the wrong distribution, and keeps this noise while",
      "the penalty follows the estimate: it is private for no epsilon (proofs/papers.md, section 6)"
    )), printed = c("iterations", "target")),
    ops = posterior_refusal("ops"), adaops = posterior_refusal("adaops")
  )
}

#' @param settings (`character`)\cr names of accepted settings; `printed`: names of settings for the
#'   published calibration.
#' @param broken (named `character`)\cr the reasons why calibrations are not private.
#' @param losses (`function`)\cr a function of the fit, rows in public units, and delta.
#' @param own (`list` by family)\cr additional settings for each family.
#' @param words (named `character`)\cr names of families in prints, if they differ from the usual
#'   names.
#' @noRd
paper_glm <- function(core, title, calibrations, settings, theorem, broken = NULL,
                      printed = settings, losses = linear_row_losses, families = "binomial",
                      own = list(), words = NULL) {
  taken <- function(public) {
    c(if (public$calibration == "published") printed else settings, own[[public$family]])
  }
  new_mechanism("dp_glm",
    title = title, needs = "blocks", families = families, calibrations = calibrations,
    options = "settings", broken = broken, words = words,
    refuse = function(public) {
      printed_for_logistic(public, broken) %||%
        unknown_settings(public$options$settings, taken(public))
    },
    promise = function(public) {
      reason <- if (public$calibration %in% names(broken)) broken[[public$calibration]]
      list(
        holds = is.null(reason), neighbours = "replace one person's row",
        theorem = theorem[[public$calibration]], reason = reason %||% "", exact = FALSE
      )
    },
    plan = function(public) plan_paper(paper_facts(public, core), public),
    run = function(plan, table, public) {
      release <- paper_release_cpp(table, paper_facts(public, core), public$rng)
      names(release$stages) <- paste0("stage", seq_along(release$stages))
      release
    },
    estimate = function(release, public) {
      coefficients <- release$stages[[length(release$stages)]]
      list(
        coefficients = coefficients, privacy = NULL, sampling = NULL,
        identified = rep(Inf, length(coefficients))
      )
    },
    loss = function(fit, table, delta, others = NULL) {
      paper_losses(fit, paper_facts(fit$public, core), table, others, delta, losses)
    }
  )
}

#' Refuse the published form for all families except the logistic, since it divides by zero
#' @noRd
printed_for_logistic <- function(public, broken) {
  if (public$family != "binomial" && public$calibration %in% names(broken)) {
    paste("The published form is for logistic regression only: for counts and for linear models",
      "the formula of its noise divides by zero (the article \"papers\", Equation 3).")
  }
}

#' The reason why posterior sampling is not available for these families
#' @noRd
posterior_refusal <- function(method) {
  record <- paper_glm("ops", "one posterior sample", "tight", character(), c(tight = ""))
  record$families <- c("binomial", "poisson", "gaussian")
  record$refuse <- function(public) {
    if (public$family == "gaussian") {
      return(paste0("For linear regression use dp_lm(method = \"", method, "\")."))
    }
    paste(
      "No exact sampler of this posterior is known. A Markov chain stops at an unknown distance",
      "from the posterior, and this distance would be a part of delta. Even exact draws would be",
      "less accurate than objective perturbation."
    )
  }
  record
}

unknown_settings <- function(settings, known) {
  names <- rlang::names2(settings)
  if (all(names %in% known)) {
    return(NULL)
  }
  paste0(
    "settings ", if (length(known)) "can contain only " else "must be empty",
    paste(known, collapse = ", "), ", but it contains ",
    paste(ifelse(nzchar(names), names, "(unnamed)"), collapse = ", "), "."
  )
}

#' Facts for the core
#' @noRd
paper_facts <- function(public, core) {
  settings <- public$options$settings %||% public$settings
  number <- function(name, default) {
    if (is.null(settings[[name]])) {
      return(default)
    }
    check_number(settings[[name]], 0, 1e12, open = "min", arg = name)
  }
  count <- function(name, default, most) {
    check_count(settings[[name]] %||% default, 1, most, arg = name)
  }
  list(
    n = public$n, epsilon = if (public$private) public$epsilon else 1,
    delta = if (public$private) public$delta else 1e-6, design = public$facts$design,
    method = core, calibration = public$calibration, ridge = number("ridge", 0),
    condition = number("condition", 0), target = number("target", 1),
    stages = count("stages", 2, 10), iterations = count("iterations", 20, 1000),
    family = public$family %||% "gaussian", span = paper_span(public, number),
    box = if (core == "kst" && public$family == "gaussian") number("box", 1) else 0
  )
}

#' Limit beyond which a loss is reduced: the largest count, or `tau` for outcomes in \[-1, 1\]
#' @noRd
paper_span <- function(public, number) {
  switch(public$family %||% "gaussian",
    poisson = max(2, public$facts$upper), gaussian = number("tau", 1 / 4), 1
  )
}

#' @return A list: `cost`, `steps`, and the noise. PUBLIC.
#' @noRd
plan_paper <- function(facts, public) {
  force(facts)
  plan <- tryCatch(paper_plan_cpp(facts), error = function(e) {
    abort(c(
      "{.arg epsilon} or {.code ridge} is too small for this method.",
      i = "Give a larger {.arg epsilon}, or a larger {.code ridge} in {.arg settings}."
    ), "argument")
  })
  plan$cost <- new_cost("approximate", public$epsilon, public$delta, pure = !plan$approximate)
  plan
}
