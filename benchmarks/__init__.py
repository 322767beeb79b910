"""The paper's experiment in one command; `python -m benchmarks --help` says how."""
