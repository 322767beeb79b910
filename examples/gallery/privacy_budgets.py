"""Differential privacy at three budgets."""

# %% A table of two thousand people, and a schema that says what is public: the kinds of the columns, the categories and
# the ends of the ranges. All else costs budget.
import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
n = 4000
age = rng.integers(18, 80, n)
job = rng.choice(["nurse", "cook", "clerk", "smith"], n, p=[0.4, 0.3, 0.2, 0.1])
rich = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 8 - (job == "clerk"))), "yes", "no")
table = pd.DataFrame({"age": age, "job": job, "rich": rich})
train, unseen = table.iloc[:2000], table.iloc[2000:]

from tabtreeformer import DP, Schema, TabTreeFormer, evaluate

schema = (
    Schema.infer(train)
    .with_public("age", low=18, high=80)
    .with_public("job", values=["nurse", "cook", "clerk", "smith"])
    .with_public("rich", values=["yes", "no"])
)

# %% ε says how much one person can change what comes out: the smaller, the more private.
results = {}
for epsilon in (0.5, 2.0, 8.0):
    model = TabTreeFormer(dp=DP(epsilon=epsilon), random_state=0, verbose=False).fit(train, schema=schema)
    rows = model.sample(2000, random_state=0)
    scores = evaluate(train, unseen, rows, metrics=["shape", "trend"], references=False).scores
    results[f"ε = {epsilon}"] = {name: score.value for name, score in scores.items()}
model = TabTreeFormer(random_state=0, verbose=False).fit(train, schema=schema)
scores = evaluate(
    train, unseen, model.sample(2000, random_state=0), metrics=["shape", "trend"], references=False
).scores
results["no differential privacy"] = {name: score.value for name, score in scores.items()}
print(pd.DataFrame(results).T.round(3).to_string())

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 2.4), layout="constrained")
pd.DataFrame(results).T.plot(ax=axis, marker="o", color=["#0f766e", "#b45309"])
axis.set_ylim(None, 1.0)
axis.grid(alpha=0.3)
