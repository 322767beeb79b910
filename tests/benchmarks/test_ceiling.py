import numpy as np
import pandas as pd

from benchmarks import ceiling, unseen


def test_rows_through_the_codec_keep_columns_dtypes_and_common_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": np.round(rng.normal(size=300), 2), "k": rng.integers(0, 4, 300), "y": rng.choice(["a", "b"], 300)}
    )
    decoded = ceiling.through_codec(table, "y", 0)
    assert decoded.dtypes.equals(table.dtypes)
    assert decoded["y"].equals(table["y"])
    assert decoded["k"].equals(table["k"])
    assert np.abs(decoded["x"] - table["x"]).median() < 0.1


def test_each_table_counts_the_same_however_many_seeds_it_has():
    columns = ["cpu_seconds", "relative_error", "attack", "found_at_1", "found_at_10"]
    columns += [f"{score}{real}" for score in ("shape_error", "trend_error", "auc") for real in ("", "_real")]
    facts = {**dict.fromkeys(columns, 0.0), "writer": "auto"}
    results = pd.DataFrame(
        [
            {**facts, "table": "small", "seed": 0, "rows": 100, "auc": 0.6},
            {**facts, "table": "small", "seed": 1, "rows": 100, "auc": 0.6},
            {**facts, "table": "other", "seed": 0, "rows": 200, "auc": 0.9, "relative_error": 0.4},
            {**facts, "table": "large", "seed": 0, "rows": unseen.MANY, "auc": 0.5},
        ]
    )
    changed = {**facts, "table": "small", "seed": 0, "rows": 100, "auc": 0.8, "writer": "auto-raw"}
    results = pd.concat([results, pd.DataFrame([changed])])
    few, many = unseen.over_tables(results).splitlines()[2:]
    assert "| 0.750 |" in few
    assert "0.400 (other)" in few
    assert "| 0.500 |" in many
    beside = [line for line in unseen.outlook(results).splitlines() if line.startswith("| small")]
    assert [line.split(" | ")[1] for line in beside] == ["auto", "auto-raw"]
    assert "auto-raw" not in unseen.by_table(results)
    assert "| other" not in unseen.outlook(results)
