"""Drift: a summary of the training table, kept in the model file, and new tables compared with it."""
