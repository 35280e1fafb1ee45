# Makes the print and the picture of the README's example from one run. Usage, from the package's
# top folder, with dpsc installed: Rscript tools/readme.R
library(dpsc)

fit <- dp_synth(pressure ~ enrolled,
  data = clinic_panel, index = c("patient", "month"),
  epsilon = 1, delta = 1e-6, bounds = c(80, 200), size = 60
)
dir.create("man/figures", showWarnings = FALSE, recursive = TRUE)
grDevices::png("man/figures/clinic.png", width = 1300, height = 860, res = 190)
plot(fit)
invisible(grDevices::dev.off())
# A picture of 64 colours takes two fifths of the bytes, in every installation (Debian:
# r-cran-magick).
picture <- magick::image_quantize(magick::image_read("man/figures/clinic.png"), 64, dither = FALSE)
magick::image_write(picture, "man/figures/clinic.png", format = "png")

lines <- readLines("README.md")
start <- grep("^Private synthetic control by", lines)
fences <- grep("^```", lines)
stopifnot(length(start) == 1L, lines[[start - 1L]] == "```")
end <- min(fences[fences > start])
printed <- utils::capture.output(print(fit))
writeLines(c(lines[seq_len(start - 1L)], printed, lines[end:length(lines)]), "README.md")
