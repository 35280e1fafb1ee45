# Suggested packages, and connections that are always closed.

need_package <- function(name, what) {
  if (!nzchar(system.file(package = name))) {
    abort(c(
      "{what} needs package {.pkg {name}}.",
      i = "{.code install.packages(\"{name}\")} installs it."
    ), "package")
  }
}

close_quietly <- function(con) {
  tryCatch(suppressWarnings(DBI::dbDisconnect(con)), error = function(e) NULL)
}
