"""Measurements of this package and of others; `python -m benchmarks --help` says how."""

import os

# Before numpy is imported: the evaluation uses one thread too, so that its work does not depend on the machine's load.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
