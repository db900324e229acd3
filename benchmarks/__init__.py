"""Benchmarks against other libraries; see README.md."""
