"""Benchmarks of this implementation against the official SDK and bare pipes: `python -m benchmarks`."""
