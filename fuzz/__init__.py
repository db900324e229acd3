"""Hostile input for every part of the library that takes any, with an oracle for every case.

A case is made of two numbers, the seed and the number of the case, and of nothing else. ``python -m fuzz --help`` lists
the options; ``python -m fuzz --repeat SEED:CASE`` shows one case and runs it.
"""
