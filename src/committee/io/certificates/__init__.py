"""Certificates of fits: what a model was fitted on, checked by fitting it again; signatures; model cards."""
