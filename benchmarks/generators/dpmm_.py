"""MST and AIM (McKenna et al., 2021 and 2022) from the package `dpmm`, run in its environment as a program.

    python dpmm_.py --model AIM --epsilon 2.4 --delta 1e-6 --train train.csv --domain domain.json --out rows.csv

The domain (lists of categories, ranges of numbers) is treated as public, as both mechanisms need one. A tenth of
epsilon goes to the intervals of the numbers (PrivTree), the rest to the marginals. Nothing of this project is imported,
because the package needs its own versions.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

INTERVALS_SHARE = 0.1
ITERATIONS, MEGABYTES = 1_000, 4
"""Steps of inference, and the size of AIM's model; the package's own are larger, and AIM then "can take many hours"."""


def main() -> None:
    """Fit, write as many rows as there were, and the seconds of the processor beside them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=("MST", "AIM"), required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import dpmm.pipelines

    domain = json.loads(options.domain.read_text(encoding="utf-8"))
    frame = pd.read_csv(options.train, keep_default_na=False)
    for name, facts in domain.items():
        frame[name] = (
            frame[name].astype(pd.CategoricalDtype(facts["categories"])) if "categories" in facts else frame[name]
        )
    started = time.process_time()
    pipeline = getattr(dpmm.pipelines, f"{options.model}Pipeline")(
        epsilon=(1 - INTERVALS_SHARE) * options.epsilon,
        delta=options.delta,
        proc_epsilon=INTERVALS_SHARE * options.epsilon,
        n_jobs=1,
        max_model_size=MEGABYTES if options.model == "AIM" else None,
        gen_kwargs={"n_iters": ITERATIONS},
    )
    pipeline.fit(frame, domain, random_state=options.seed)
    rows = pipeline.generate(n_records=len(frame), random_state=options.seed)
    for name, facts in domain.items():
        if "categories" not in facts:
            rows[name] = np.clip(np.rint(rows[name].astype(float)), facts["lower"], facts["upper"]).astype(int)
    rows[list(frame.columns)].to_csv(options.out, index=False)
    options.out.with_suffix(".json").write_text(json.dumps({"cpu_seconds": time.process_time() - started}))


if __name__ == "__main__":
    main()
