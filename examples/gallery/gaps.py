"""Filling gaps many times, and pooling the estimates."""

# %% Income is missing more often for the old: the mean of what is there is too high or too low, and nobody knows how
# uncertain it is.
import numpy as np
import pandas as pd

rng = np.random.default_rng(2)
n = 1200
age = rng.integers(20, 80, n)
income = (20 + 0.6 * age + rng.normal(0, 6, n)).round(1)
job = np.where(income + rng.normal(0, 8, n) > 52, "lead", "staff")
truth = income.mean()
holes = rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 6))
table = pd.DataFrame({"age": age, "income": np.where(holes, np.nan, income), "job": job})
print(f"{holes.mean():.0%} missing; true mean {truth:.2f}, mean of what is there {np.nanmean(table['income']):.2f}")

# %% One model, twenty ways to fill the gaps: each draw is a value that fits the rest of its row.
from tabtreeformer import TabTreeFormer

model = TabTreeFormer(target="income", random_state=0, verbose=False).fit(table)
filled = model.impute(table, n_draws=20, random_state=0)
means = np.array([frame["income"].mean() for frame in filled])
print(means.round(2))

# %% Rubin's rules: the spread between the fillings is part of the uncertainty.
within = np.mean([frame["income"].var() / n for frame in filled])
between = means.var(ddof=1)
error = np.sqrt(within + (1 + 1 / len(means)) * between)
print(f"pooled mean {means.mean():.2f} ± {1.96 * error:.2f} (true: {truth:.2f})")

# %%
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(6, 2.2), layout="constrained")
axis.errorbar([means.mean()], [1], xerr=[1.96 * error], fmt="o", color="#0f766e", label="pooled, 95 %")
axis.plot([np.nanmean(table["income"])], [2], "s", color="#b45309", label="what is there")
axis.axvline(truth, color="#22303a", linestyle="--", label="true mean")
axis.set_yticks([])
axis.set_ylim(0.5, 2.5)
axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
