"""The picture of quality against attack, and sequential trees as a rival."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib", reason="figures need the extra bench")

from benchmarks.generators import GENERATORS, cart

from benchmarks import scale_trees, tradeoff

FIGURES = {"attack": 0.5, "found_at_1": 0.01, "auc": 0.6, "relative_error": 0.02, "shape_error": 0.01}
FIGURES |= {"trend_error": 0.02, "auc_real": 0.5, "shape_error_real": 0.005, "trend_error_real": 0.01}


def results() -> pd.DataFrame:
    rows = [
        {"table": table, "seed": seed, "writer": writer, "cpu_seconds": 1.0, **FIGURES, "attack": 0.5 + 0.1 * k}
        for k, writer in enumerate(("auto", "trees", "cart"))
        for table in ("iris", "boston", "wide")
        for seed in range(2)
        if (writer, table) != ("cart", "wide")
    ]
    rows += [
        {"table": "adult as published", "seed": 1, "writer": name, **FIGURES} for name in ("tabsyn", "auto", "unknown")
    ]
    return pd.DataFrame(rows)


def test_the_picture_compares_writers_on_the_tables_that_all_of_them_have(tmp_path):
    results().to_csv(tmp_path / "unseen.csv", index=False)
    page, readme = tmp_path / "page.md", tmp_path / "readme.md"
    page.write_text("<!-- tradeoff: begin -->\n<!-- tradeoff: end -->\n", encoding="utf-8")
    readme.write_text("<!-- published rows: begin -->\n<!-- published rows: end -->\n", encoding="utf-8")
    means = tradeoff.common(results()[lambda frame: ~frame["table"].str.contains("published")])
    assert set(means.index.get_level_values("table")) == {"iris", "boston"}
    tradeoff.write(tmp_path / "unseen.csv", readme, page, tmp_path / "figure")
    written = page.read_text(encoding="utf-8")
    assert "the 2 tables that all writers have, 2 seeds each" in written
    assert "| CART | 0.600 | 0.020 | 0.700 | 1.0% |" in written
    published = readme.read_text(encoding="utf-8")
    assert published.index("**`auto`**") < published.index("TabSyn")
    assert (tmp_path / "figure.svg").stat().st_size > 1_000


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n).astype(float)
    pay = np.round(1000 + 30 * age + rng.normal(0, 50, n))
    pay[age > 70] = np.nan
    town = pd.Series(rng.choice(["Ulm", "Bern"], n)).where(rng.random(n) > 0.1)
    return pd.DataFrame({"age": age, "pay": pay, "town": town, "name": [f"n{i}" for i in range(n)]})


def test_sequential_trees_write_real_values_that_depend_on_each_other_and_are_missing_where_they_were():
    real = table()
    kinds = {"age": "numeric", "pay": "numeric", "town": "categorical", "name": "text"}
    generator = cart.Generator(seed=0)
    generator.fit(real, {"columns": [{"name": name, "kind": kind} for name, kind in kinds.items()]})
    new = generator.sample(1000)
    assert list(new.columns) == list(real.columns)
    assert set(new["pay"].dropna()) <= set(real["pay"].dropna())
    assert new["pay"].isna()[new["age"] > 72].all()
    assert abs(new["town"].isna().mean() - real["town"].isna().mean()) < 0.05
    there = new["pay"].notna()
    assert np.corrcoef(new["age"][there], new["pay"][there])[0, 1] > 0.9
    assert any(spec.name == "cart" for spec in GENERATORS)


def test_a_big_table_is_measured_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(scale_trees, "N_NEW", 100)
    line = scale_trees.measure(tmp_path / "table.parquet", 1_000)
    assert line.startswith("1,000 rows × 20 columns: fit ")
    assert line.endswith(" MiB")
