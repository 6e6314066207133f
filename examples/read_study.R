# Read a study of ethomarkov with R alone: names, states in time, share of time per animal and state, an ethogram.
#
#   Rscript read_study.R STUDY/study.nc [ethogram.png]
#
# Needs the package ncdf4. Indices in the file count from 0; -1 stands for missing.

library(ncdf4)

options(width = 160)
arguments <- commandArgs(trailingOnly = TRUE)
file <- if (length(arguments) > 0) arguments[1] else "study/study.nc"
nc <- nc_open(file)
cat(ncatt_get(nc, 0, "title")$value, "\n")
cat(ncatt_get(nc, 0, "individuals")$value, "\n\n")

# every frame: individual, time in seconds, state at the finest level
levels <- as.integer(sub("state_", "", grep("^state_[0-9]+$", names(nc$var), value = TRUE)))
variable <- paste0("state_", max(levels))
animals <- ncvar_get(nc, "individual_name")
states <- ncvar_get(nc, paste0(variable, "_name"))
index <- ncvar_get(nc, variable)
index[index < 0] <- NA
frames <- data.frame(
  individual = factor(animals[ncvar_get(nc, "individual_index") + 1], levels = animals),
  time = ncvar_get(nc, "time"),
  microstate = ncvar_get(nc, "microstate"),
  state = factor(states[index + 1], levels = states),
  phi_2 = ncvar_get(nc, "phi_2")
)
cat(nrow(frames), "frames, at", ncatt_get(nc, 0, "sampling_rate_hertz")$value, "frames per second\n")
print(head(frames[!is.na(frames$state), ], 3))

cat("\nShare of time of every animal in each state:\n")
print(round(prop.table(table(frames$individual, frames$state), margin = 1), 3))

cat("\nWhat a variable says of itself:\n")
for (name in c("time", variable, "phi_2")) {
  cat(" ", name, ":", ncatt_get(nc, name, "long_name")$value, "[", ncatt_get(nc, name, "units")$value, "]\n")
}

# results in full are in groups
cat("\nRelaxation times of the chain (s):\n")
print(round(head(ncvar_get(nc, "chain/spectrum/relaxation_times"), 4), 2))
nc_close(nc)

# an ethogram: a row for every animal, a colour for every state
picture <- if (length(arguments) > 1) arguments[2] else "ethogram.png"
png(picture, width = 1200, height = 100 + 60 * length(animals))
par(mar = c(4, 8, 2, 1))
colours <- hcl.colors(length(states), "Dark 3")
plot(
  range(frames$time), c(0.5, length(animals) + 0.5), type = "n", yaxt = "n", xlab = "time (s)", ylab = "",
  bty = "n"
)
axis(2, at = seq_along(animals), labels = animals, las = 1, tick = FALSE)
for (i in seq_along(animals)) {
  one <- frames[frames$individual == animals[i], ]
  runs <- rle(as.integer(one$state))
  stop <- cumsum(runs$lengths)
  start <- stop - runs$lengths + 1
  step <- one$time[2] - one$time[1]
  rect(one$time[start], i - 0.4, one$time[stop] + step, i + 0.4, col = colours[runs$values], border = NA)
}
legend("top", legend = states, fill = colours, horiz = TRUE, bty = "n", xpd = NA, inset = -0.05)
invisible(dev.off())
cat("\nAn ethogram is in", picture, "\n")
