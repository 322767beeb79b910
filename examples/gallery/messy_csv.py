"""A messy CSV to a file that can be shared."""

# %% A table as people have it: dates without leading zeros, a mark for missing values, ids, a column that is the sum of two
# others, prices in round numbers.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 600
day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
net = rng.choice([5, 10, 15, 20, 50, 100], n) * rng.integers(1, 6, n)
tax = (net * 0.2).round(2)
orders = pd.DataFrame(
    {
        "Order No.": [f"A-{i:05d}" for i in range(n)],
        "day": [f"{d.month}/{d.day}/{d.year}" for d in day],
        "shop": rng.choice(["Ulm", "Bern", "Linz"], n, p=[0.5, 0.3, 0.2]),
        "net": net,
        "tax": tax,
        "total": net + tax,
        "rating": np.where(rng.random(n) < 0.2, "-", rng.integers(1, 6, n).astype(str)),
    }
)
orders.to_csv("orders.csv", index=False)
print(orders.head(3).to_string(index=False))

# %% What it is taken for, and why.
from tabtreeformer import Schema, TabTreeFormer, read_table

table = read_table("orders.csv")
for column in Schema.infer(table).columns:
    print(f"{column.name!s:10} {column.kind:12} {column.why}")

# %% Fit, and write a file. The order numbers are new ones, the total is the sum in every row.
model = TabTreeFormer(target="shop", random_state=0, verbose=False).fit(table)
rows = model.sample(600, random_state=0)
rows.to_csv("shared.csv", index=False)
print(rows.head(5).to_string(index=False))
print()
print("laws:", *model.summary()["constraints"], sep="\n  ")
print("total = net + tax in", f"{np.isclose(rows['total'], rows['net'] + rows['tax']).mean():.0%} of the rows")
print("order numbers that were in the table:", rows["Order No."].isin(table["Order No."]).sum())

# %% What the attacks on the model found.
privacy = model.fitted_.record["privacy"]
print("verdict:", privacy["verdict"])
for reason in privacy["reasons"]:
    print("-", reason)
