"""The measures of a database are SyntheRela's, in an environment of its own.

python -m venv env && env/bin/pip install "sdv<1.20" "sdmetrics<0.20" matplotlib xgboost seaborn &&
        env/bin/pip install --no-deps syntherela
SYNTHERELA_PYTHON=env/bin/python python -m pytest tests/evaluation/test_syntherela.py
"""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from tabtreeformer import Schema, evaluate_database
from tabtreeformer.data.link_search import find_links

SCRIPT = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from syntherela.metadata import Metadata
from syntherela.metrics.multi_table.detection.aggregation_detection import BaseAggregationDetection
from syntherela.metrics.multi_table.trends import multi_table_trends

folder = sys.argv[1]
metadata = Metadata().load_from_json(f"{folder}/metadata.json")
real, new = ({t: pd.read_csv(f"{folder}/{side}_{t}.csv") for t in metadata.get_tables()} for side in ("real", "new"))
report = multi_table_trends(real, new, metadata, verbose=False)
from sdmetrics.reports.multi_table import QualityReport
quality = QualityReport()
quality.generate(real, new, metadata.to_dict(), verbose=False)
shapes, pairs = (float(quality.get_details(p)["Score"].mean()) for p in ("Column Shapes", "Column Pair Trends"))
added, _ = BaseAggregationDetection.add_aggregations(real, metadata, update_metadata=False)
hops = {f"{k}-hop": float(v) for k, v in report["avg_scores"].items()}
trends = {"cardinality": float(report["cardinality"]), "shapes": shapes, "pairs": pairs, **hops}
facts = {c: added["region"][c].astype(float).fillna(-1).tolist() for c in added["region"].columns[2:]}
print("RESULT" + json.dumps({"trends": trends, "aggregated": facts}))
"""


def chain(seed: int) -> dict[str, pd.DataFrame]:
    """Regions, their customers, and the orders of those."""
    rng = np.random.default_rng(seed)
    region = pd.DataFrame({"region_id": range(40), "climate": rng.choice(["dry", "wet"], 40)})
    owner = rng.integers(0, 40, 300)
    customer = pd.DataFrame({"customer_id": range(300), "region_id": owner, "age": rng.normal(50, 9, 300).round(1)})
    customer["sex"] = rng.choice(["f", "m"], 300)
    buyer = rng.integers(0, 300, 900)
    order = pd.DataFrame({"order_id": range(900), "customer_id": buyer, "amount": rng.gamma(2, 9, 900).round(2)})
    order["paid"] = np.where(order["amount"] > 15 + seed, "card", "cash")
    return {"region": region, "customer": customer, "order": order}


@pytest.fixture
def environment() -> str:
    python = os.environ.get("SYNTHERELA_PYTHON")
    if not python:
        pytest.skip("SYNTHERELA_PYTHON names no Python with syntherela; the top of this file says how to make one")
    return python


def described(tables: dict[str, pd.DataFrame]) -> dict[str, object]:
    kinds = {"climate": "categorical", "sex": "categorical", "paid": "categorical"}
    sorts = {column: kinds.get(column, "numerical") for table in tables.values() for column in table.columns}
    sorts |= {column: "id" for column in sorts if column.endswith("_id")}
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            name: {"primary_key": f"{name}_id", "columns": {c: {"sdtype": sorts[c]} for c in table.columns}}
            for name, table in tables.items()
        },
        "relationships": [
            {
                "parent_table_name": parent,
                "child_table_name": child,
                "parent_primary_key": key,
                "child_foreign_key": key,
            }
            for parent, child, key in (("region", "customer", "region_id"), ("customer", "order", "customer_id"))
        ],
    }


def test_measures_are_those_of_syntherela(environment, tmp_path):
    real, new = chain(0), chain(1)
    (tmp_path / "metadata.json").write_text(json.dumps(described(real)))
    for side, tables in (("real", real), ("new", new)):
        for name, table in tables.items():
            table.to_csv(tmp_path / f"{side}_{name}.csv", index=False)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    run = subprocess.run([environment, script, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    theirs = json.loads(run.stdout.split("RESULT")[1])
    ours = evaluate_database(real, new, find_links(real)).summary()
    for measure in ("cardinality", "shapes", "pairs", "1-hop", "2-hop"):
        assert ours[measure] == pytest.approx(theirs["trends"][measure], abs=1e-6), measure
    from tabtreeformer.evaluation.aggregates import aggregated, own_columns

    links = find_links(real)
    schemas = {name: Schema.infer(table) for name, table in real.items()}
    own = aggregated(real, links, schemas, own_columns(real, links), "region")
    columns = [own[column].fillna(-1).to_numpy() for column in own.columns[1:]]
    others = [np.array(values) for values in theirs["aggregated"].values()]
    for values in others:
        assert any(np.allclose(values, mine) for mine in columns)
