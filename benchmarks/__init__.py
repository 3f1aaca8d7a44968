"""How fast the engine is, beside the official SDK and bare pipes: `python -m benchmarks`."""
