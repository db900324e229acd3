"""Measuring side by side: what ``committee bench`` and the suites of the repository are made of."""
