# The main job: a private synthetic control on the shipped panel, printed and plotted.
library(dpsc)

fit <- dp_synth(pressure ~ enrolled,
  data = clinic_panel, index = c("patient", "month"),
  epsilon = 1, delta = 1e-6, bounds = c(80, 200), size = 60
)
print(fit)

grDevices::png("demo/plot.png", width = 1600, height = 1000, res = 200)
plot(fit)
invisible(grDevices::dev.off())
cat("\nPlot: demo/plot.png\n")
