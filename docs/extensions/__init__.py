"""Extensions of the documentation's build: examples that run, the reference, pages from results, formulas, links."""
