.onLoad <- function(libname, pkgname) {
  announce_classes()
  # The table of methods is built here, once, and not inside a user's call.
  force(mechanism_table)
  force(default_control)
}

.onUnload <- function(libpath) {
  library.dynam.unload("dpsc", libpath)
}
