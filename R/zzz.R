.onLoad <- function(libname, pkgname) {
  announce_classes()
  # The table of methods is made here, once, and not inside somebody's call.
  force(mechanism_table)
  force(default_control)
}

.onUnload <- function(libpath) {
  library.dynam.unload("dpsc", libpath)
}
