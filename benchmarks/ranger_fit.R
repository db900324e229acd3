# Fit one ranger forest, timed inside R: Rscript ranger_fit.R FOLDER. The folder contains plan.txt
# (kind, rows, test rows, columns, trees, mtry, threads, repeats) and the data as raw little-endian numbers.
folder <- commandArgs(trailingOnly = TRUE)[1]
plan <- scan(file.path(folder, "plan.txt"), what = character(), quiet = TRUE)
read <- function(name, n, size) readBin(file.path(folder, name), "numeric", n = n, size = size, endian = "little")
numbers <- as.integer(plan[-1])
n_rows <- numbers[1]; n_test <- numbers[2]; n_cols <- numbers[3]
is_class <- plan[1] == "classes"
as_table <- function(name, n) as.data.frame(matrix(read(name, n * n_cols, 4), nrow = n, byrow = TRUE))
x <- as_table("X.raw", n_rows)
y <- read("y.raw", n_rows, 8)
if (is_class) y <- factor(y)
x_test <- as_table("X_test.raw", n_test)
y_test <- read("y_test.raw", n_test, 8)
seconds <- cpu <- c()
for (k in seq_len(numbers[7])) {
  gc()
  taken <- system.time(
    forest <- ranger::ranger(
      x = x, y = y, num.trees = numbers[4], mtry = numbers[5], min.node.size = 1, num.threads = numbers[6],
      seed = 1, oob.error = plan[9] == "TRUE", verbose = FALSE
    )
  )
  seconds <- c(seconds, taken[["elapsed"]])
  cpu <- c(cpu, taken[["user.self"]] + taken[["sys.self"]])
  if (taken[["elapsed"]] > 20) break
}
if (plan[9] == "TRUE") {
  score <- if (is_class) 1 - forest$prediction.error else forest$r.squared
} else {
  predicted <- predict(forest, x_test, num.threads = numbers[6])$predictions
  score <- if (is_class) mean(as.numeric(as.character(predicted)) == y_test) else 1 - mean((predicted - y_test)^2) / mean((y_test - mean(y_test))^2)
}
cat(paste(seconds, collapse = " "), paste(cpu, collapse = " "), score, sep = "\n")
