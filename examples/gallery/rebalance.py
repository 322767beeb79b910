"""Rebalancing a rare class, and what it does to a classifier."""

# %% Four customers in a hundred leave. A classifier that is trained on such a table finds none of them.
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
n = 3000
age, calls, months = rng.integers(18, 80, n), rng.poisson(2.0, n), rng.integers(1, 60, n)
logit = -4.2 + 0.55 * calls - 0.03 * months + 0.02 * (age - 40)
left = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no")
table = pd.DataFrame({"age": age, "calls": calls, "months": months, "left": left})
train, test = table.iloc[:1500], table.iloc[1500:]
print(train["left"].value_counts(normalize=True).round(3).to_string())

# %% A model of the table writes as many of the rare class as of the other.
from tabtreeformer import TabTreeFormer

model = TabTreeFormer(target="left", random_state=0, verbose=False).fit(train)
balanced = model.sample(1500, balance="left", random_state=0)
print(balanced["left"].value_counts().to_string())

# %% The same classifier on three training tables, scored on real rows that nobody learned from.
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score, recall_score, roc_auc_score

rare = balanced[balanced["left"] == "yes"]
tables = {"real": train, "real + rare rows": pd.concat([train, rare]), "balanced, synthetic only": balanced}
scores = {}
for name, rows in tables.items():
    forest = RandomForestClassifier(200, random_state=0).fit(rows.drop(columns="left"), rows["left"])
    chance = forest.predict_proba(test.drop(columns="left"))[:, list(forest.classes_).index("yes")]
    found = np.where(chance >= 0.5, "yes", "no")
    scores[name] = {
        "recall": recall_score(test["left"], found, pos_label="yes"),
        "F1": f1_score(test["left"], found, pos_label="yes"),
        "AUC": roc_auc_score(test["left"] == "yes", chance),
    }
print(pd.DataFrame(scores).T.round(3).to_string())

# %% Recall is what rebalancing buys. AUC, which does not depend on where the line is drawn, hardly moves: new rows hold no
# information that the table did not have.
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
pd.DataFrame(scores).T[["recall", "F1", "AUC"]].plot.barh(ax=axis, color=["#0f766e", "#b45309", "#8a99a5"])
axis.set_xlim(0, 1)
axis.invert_yaxis()
