"""The model card: training data, settings, measured quality and privacy of a model, and the limits of these figures.

It is built from the file alone. Figures come from its record, where the fit or the user stored them:

    record["quality"]   rows, measures {name: value, goal, ceiling, floor, note}, left_out {name: reason}
    record["privacy"]   the same, and: verdict ("pass", "fail", "not judged"), reasons [text], mode, judged_on (which
                        rows), not_covered [text], file {leaks, reasons}, accepted_risk [{reason, rows, time}] where
                        rows were written in spite of a failure, memorisation {name: number},
                        dp {epsilon, delta, …}
    record["protected"] rare_floor, and by column how many values it has merged, clipped and filled

`evaluation.record.to_record` creates both from an evaluation; the verdict comes from the gate. A card contains no
values of the table.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors.numpy

from ..artifact.archive import load_json, read_archive
from ..artifact.limits import MEMBERS
from ..artifact.record import check_record
from ..config.settings import Config
from ..data.schema import Schema
from ..errors import ArchiveError
from ..laws import Laws
from .gate.level_text import level_line

NAMES = {
    "utility": "Utility loss",
    "shape": "Shape",
    "trend": "Trend",
    "detection": "Detection (AUC)",
    "laws": "Laws kept",
    "grain": "Grain of numbers",
    "detection_derived": "Detection, derived columns (AUC)",
    "shape_unseen": "Shape, unseen rows",
    "trend_unseen": "Trend, unseen rows",
    "detection_unseen": "Detection, unseen rows (AUC)",
    "singling_out": "Singling-out risk",
    "linkability": "Linkability risk",
    "inference": "Attribute-inference risk",
    "membership_density": "Membership by density (AUC)",
    "membership_likelihood": "Membership by likelihood (AUC)",
    "membership_calibrated": "Membership by two likelihoods (AUC)",
    "membership": "Membership by distance (AUC)",
    "copies": "Smoke test: copies",
    "dcr": "Smoke test: distances (p)",
    "neighbour_ratio": "Smoke test: neighbour ratio",
}
WAYS = {
    "membership_density": "a density fitted to synthetic rows",
    "membership": "their distance to synthetic rows",
    "membership_likelihood": "their likelihood under the model",
}
"""How members are recognised, by measure."""
GOALS = {"higher": "higher is better", "lower": "lower is better", "half": "0.5 is best"}
COUNTS = {"merged": "rare values merged", "clipped": "rows clipped", "gaps": "rare gaps filled"}
LIMITS = (
    "Distances and copies are smoke tests: they detect models that repeat rows, and passing them is no evidence of "
    "privacy. The attacks are what counts.",
    "The figures apply only to the rows and attacks named. An attack that finds nothing does not prove that there is "
    "nothing to find: a stronger attacker, or one who knows more, may succeed.",
    "Privacy figures compare training rows with rows that the model has not seen. They do not cover facts about whole "
    "groups of people, which a synthetic table reveals on purpose.",
    "They were measured on one sample of rows. Every further sample reveals slightly more.",
    "Column names, kinds and dtypes, the number of rows and all settings are stored in plain text in the file.",
    "The file reveals more than its rows: `ttf audit` lists its contents.",
)


def model_card(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the card of a model file as plain data."""
    return card_of(read_archive(path, MEMBERS), os.path.basename(path))


def card_of(members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """Return the card of the members of a model file."""
    try:
        config, schema, codec, record = (
            load_json(members[f"{part}.json"]) for part in ("config", "schema", "codec", "record")
        )
        settings = Config.from_json(config).to_json()
        check_record(record)
        columns = _columns(Schema.from_json(schema), codec)
        for counts in _merged(record):
            columns[counts["column"]] |= {name: counts[name] for name in COUNTS if name in counts}
        return {
            "name": name,
            "data": {"rows": record["rows"], "columns": columns, "target": record["target"]},
            "model": _model(members, settings, record),
            "settings": settings,
            "versions": record["versions"],
            "quality": record.get("quality"),
            "privacy": record.get("privacy"),
            "protection": _protection(settings, members, record),
            "limits": list(LIMITS),
        }
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise ArchiveError(f"{name} is damaged: its parts are inconsistent ({error})") from error


def _columns(schema: Schema, codec: Any) -> list[dict[str, Any]]:
    """The kind of each column and how it is coded: in several parts if laws split it, or not at all."""
    laws = Laws.from_json(codec.get("laws", []), schema)
    coded: dict[str | int, list[str]] = {name: [] for name in schema.names}
    for column, entry in zip(laws.expressed_schema.columns, codec["columns"], strict=True):
        coded[laws.origins[column.name]].append(next(iter(entry)))
    return [
        {"name": c.name, "kind": c.kind, "dtype": c.dtype, "coded_as": " + ".join(coded[c.name]) or "computed"}
        for c in schema.columns
    ]


def _model(members: Mapping[str, bytes], settings: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Size of the model: networks with the trees that prompt them, or trees only."""
    facts = {"preset": record["preset"], "fit_seconds": record.get("fit_seconds")}
    if "forest.json" in members:
        n_trees = sum(len(sizes) for sizes in load_json(members["forest.json"])["nodes"])
        return facts | {"weights": 0, "networks": 0, "tree_model": "forest", "trees": n_trees}
    tree = load_json(members["tree.json"])
    return facts | {
        "weights": _weights(members["weights_1.safetensors"]),
        "networks": record.get("networks", 2),
        "tree_model": "none" if tree["encoder"] is None else settings["tree"]["model"],
        "trees": len(tree["n_leaves"]),
    }


def _weights(weights: bytes) -> int:
    header = load_json(weights[8 : 8 + int.from_bytes(weights[:8], "little")])
    return sum(math.prod(facts["shape"]) for name, facts in header.items() if name != "__metadata__")


def _merged(record: Mapping[str, Any]) -> list[dict[str, int]]:
    """Number of values merged, clipped or filled by the floor, per column."""
    entries: list[dict[str, int]] = (record.get("protected") or {}).get("columns", [])
    if not all(type(count) is int and count >= 0 for entry in entries for count in entry.values()):
        raise ValueError("record.protected does not count")
    return entries


def _protection(
    settings: Mapping[str, Any], members: Mapping[str, bytes], record: Mapping[str, Any]
) -> list[dict[str, str]]:
    """How rows are protected from being revealed by the file, and what is not protected."""
    train, privacy = settings["train"], record.get("privacy") or {}
    if privacy.get("dp"):
        return _promise(privacy["dp"])
    floor = (record.get("protected") or {}).get("rare_floor")
    if "forest.json" in members:
        lines = _trees_reveal(int(load_json(members["forest.json"])["leaf_rows"]))
    else:
        lines = _networks_hide(train, safetensors.numpy.load(members["prompts.safetensors"]), floor)
    if floor is not None:
        sums = {name: sum(entry.get(name, 0) for entry in _merged(record)) for name in COUNTS}
        lines["Rare values"] = (
            f"Categories, ranges, intervals, leaves and prompts come from at least {int(floor)} rows each: "
            f"{sums['merged']:,} rarer categories and texts were merged, {sums['clipped']:,} numbers clipped, "
            f"{sums['gaps']:,} rare gaps filled; see the table above for each column."
        )
    else:
        lines["Rare values"] = (
            "Not protected: categories, extremes and edges of single rows are stored unchanged in the file."
        )
    lines["Differential privacy"] = "None: no such guarantee is claimed."
    return [{"what": what, "how": how} for what, how in lines.items()]


def _trees_reveal(leaf_rows: int) -> dict[str, str]:
    """The (weak) protection of rows by the preset `trees`."""
    return {
        "Leaves": f"Each share that rows are drawn from describes at least {leaf_rows} training rows.",
        "What the trees reveal": "They reproduce the training rows of each leaf, and the file contains exact counts "
        "of them. Anyone who has a row can tell from the file, and for small tables from the synthetic rows too, "
        "whether it was in the training table. Use them for test data, public data and quick looks.",
    }


def _networks_hide(train: Mapping[str, Any], prompts: Mapping[str, Any], floor: int | None) -> dict[str, str]:
    """How rows are protected from being memorised by the networks."""
    ids = np.concatenate([bank.ravel() for bank in prompts.values()])
    n_prompts, masked = sum(len(bank) for bank in prompts.values()), float((ids < 0).mean()) if ids.size else 1.0
    leaf, value = (" to ".join(f"{share:.0%}" for share in train[f"{kind}_mask"]) for kind in ("leaf", "value"))
    return {
        "Masks": f"While training, {leaf} of a row's leaves and {value} of its values were hidden."
        if max(train["leaf_mask"] + train["value_mask"]) > 0
        else "None: the networks saw whole rows and can repeat them.",
        "Two networks": "Each was trained on a part of the rows and validated on the others (stopped at the latest "
        f"after {train['patience']} validations without a gain).",
        "Prompts": f"{n_prompts:,} rows of leaf numbers are stored in random order, {masked:.0%} of it masked: "
        f"leaves of {'rows that the model wrote itself' if floor else 'training rows'}."
        if ids.size
        else "No leaves of rows are stored.",
    }


def _promise(dp: Mapping[str, Any]) -> list[dict[str, str]]:
    """What differential privacy covers."""
    lines = {
        "Differential privacy": f"epsilon {dp.get('epsilon')}, delta {dp.get('delta')} for each row: adding or "
        "removing a row changes the probability of anything in this file by a factor of at most e to epsilon, except "
        "with probability delta.",
        "What was spent": "; ".join(f"{key.replace('_', ' ')} {fact}" for key, fact in dp.items()) + ".",
        "Codec": "Category lists, ranges, intervals and frequencies come from counts with Gaussian noise; a value "
        "that is not listed is released only if its noisy count is above a threshold.",
        "Network": "DP-SGD: rows drawn at random, the gradient of each clipped, Gaussian noise on the sum. No trees, "
        "no prompts, no losses of rows in the file.",
        "Taken as public": "The number of rows, the given schema (names, kinds, dtypes, forms, lists, ranges, "
        "placeholders, relations), all settings, and running times.",
        "Not covered": "For a person with several rows the bound is that many times weaker. Gradients are sums of "
        "floats, whose last digits are not covered. Figures measured on real rows later are not private.",
    }
    return [{"what": what, "how": how} for what, how in lines.items()]


# ---- Markdown


def to_markdown(card: Mapping[str, Any]) -> str:
    """Format a card as Markdown."""
    data, model, privacy = card["data"], card["model"], card["privacy"] or {}
    trees = "no trees" if not model["trees"] else f"{model['trees']} trees of {model['tree_model']}"
    networks = f"{model['networks']} networks of {model['weights']:,} weights, {trees}"
    size = networks if model["networks"] else f"{model['trees']} trees, no network"
    parts = [
        f"# Model card: {_plain(card['name'])}",
        "A tabtreeformer model: it writes synthetic rows like those of its training table.",
        "## The data",
        f"{data['rows']:,} rows, {len(data['columns'])} columns; target: {_plain(data['target'] or 'none')}. "
        "No value of the table is on this card.",
        _table(
            ("column", "kind", "dtype", "protected"),
            [(c["name"], c["kind"], c["dtype"], _counted(c)) for c in data["columns"]],
        ),
        "## The model",
        f"Preset {_plain(model['preset'])}: {size}.",
        "Versions: " + ", ".join(f"{_plain(k)} {_plain(v)}" for k, v in card["versions"].items()) + ".",
        "## Quality",
        _figures(card["quality"], "quality"),
        "## Privacy",
        _verdict(privacy),
        _figures(card["privacy"], "privacy"),
        _memorisation(privacy),
        "## What was protected, and how",
        "\n".join(f"- **{line['what']}.** {_plain(line['how'])}" for line in card["protection"]),
        "## What this does and does not prove",
        "\n".join(f"- {line}" for line in card["limits"]),
        "## Settings",
        "```json\n" + json.dumps(card["settings"], indent=1, ensure_ascii=False) + "\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counted(column: Mapping[str, Any]) -> str:
    """The effect of the floor on a column, in numbers."""
    return ", ".join(f"{column[name]:,} {text}" for name, text in COUNTS.items() if column.get(name))


def _verdict(privacy: Mapping[str, Any]) -> str:
    if "verdict" not in privacy:
        return "No verdict: no attacks were run when this model was fitted."
    if privacy["verdict"] == "not judged":
        return f"No verdict: {'; '.join(_plain(reason) for reason in privacy.get('reasons') or ['nobody asked'])}."
    mode = f", privacy={_plain(privacy['mode'])}" if privacy.get("mode") else ""
    judged = f" (on {_plain(privacy['judged_on'])}{mode})" if privacy.get("judged_on") else ""
    lines = [f"Verdict: **{_plain(privacy['verdict'])}**{judged}."]
    lines += [f"- {_plain(reason)}" for reason in privacy.get("reasons") or ()]
    if isinstance(privacy.get("level"), Mapping):
        lines.append(f"\nL{_plain(level_line(privacy['level']))[1:]}.")
    if (privacy.get("file") or {}).get("leaks"):
        lines.append("\nVerdict on the file: **fail**. It reveals more than its rows do: share rows, not the file.")
        lines += [f"- {_plain(reason)}" for reason in privacy["file"].get("reasons") or ()]
    if privacy.get("not_covered"):
        lines.append("\nWhat the verdict does not cover:")
        lines += [f"- {_plain(text)}" for text in privacy["not_covered"]]
    if privacy.get("accepted_risk"):
        lines.append("\nRows were written despite the verdict:")
        lines += [
            f"- {_plain(e.get('time'))}, {_plain(e.get('rows'))} rows: {_plain(e.get('reason'))}"
            for e in privacy["accepted_risk"]
        ]
    return "\n".join(lines)


def _figures(figures: Mapping[str, Any] | None, part: str) -> str:
    if not figures or not figures.get("measures"):
        return f"Not measured: the file has no {part} figures. `ttf evaluate` measures them on sampled rows."
    rows = []
    order = {name: place for place, name in enumerate(NAMES)}
    for name, facts in sorted(figures["measures"].items(), key=lambda item: order.get(item[0], len(order))):
        numbers = [_figure(facts.get(key)) for key in ("value", "ceiling", "floor")]
        interval = facts.get("interval") or facts.get("auc_interval")
        between = "" if not interval else f"{_figure(interval[0])} to {_figure(interval[1])}"
        rows.append((NAMES.get(name, name), *numbers, between, GOALS.get(facts.get("goal"), "")))
    text = _table(("measure", "synthetic", "real held-out", "independent columns", "95 % interval", "goal"), rows)
    for name, way in WAYS.items():
        found = figures["measures"].get(name, {}).get("true_positives")
        if found is not None:
            text += f"\n\nOf the training rows {found:.1%} are recognised by {way} at 1 % false positives."
    again = figures["measures"].get("copies", {}).get("repeated")
    if again is not None:
        text += (
            f"\n\nAmong {_figure(again['released'])} rows {_figure(again['members_repeated'])} of "
            f"{_figure(again['members'])} training rows and {_figure(again['others_repeated'])} of "
            f"{_figure(again['others'])} held-out rows were repeated, exactly or nearly."
        )
    for name, why in (figures.get("left_out") or {}).items():
        text += f"\n\n{NAMES.get(name, _plain(name))} was left out: {_plain(why)}."
    return text


def _memorisation(privacy: Mapping[str, Any]) -> str:
    facts = privacy.get("memorisation") or {}
    return "\n".join(f"- {_plain(key).replace('_', ' ')}: {_figure(value)}" for key, value in facts.items())


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else _plain(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(_plain(cell) for cell in line) + " |" for line in lines)


def _plain(value: Any) -> str:
    """Escape text from a table, so that it cannot be read as Markdown or HTML."""
    text = " ".join(str(value).split())
    for sign in "\\`*_[]|":
        text = text.replace(sign, "\\" + sign)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
