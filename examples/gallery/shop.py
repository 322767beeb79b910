"""A shop's database: customers, orders and their lines."""

# %% Three linked tables.
import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
customers = pd.DataFrame({"id": range(200), "country": rng.choice(["DE", "FR", "AT"], 200, p=[0.6, 0.3, 0.1])})
counts = rng.poisson(np.where(customers["country"] == "DE", 3.0, 1.0))
orders = pd.DataFrame({"customer_id": np.repeat(customers["id"], counts)})
orders.insert(0, "id", range(1000, 1000 + len(orders)))
orders["paid"] = rng.choice(["card", "cash"], len(orders), p=[0.7, 0.3])
n_lines = rng.integers(1, 5, len(orders))
lines = pd.DataFrame({"order_id": np.repeat(orders["id"], n_lines)}).reset_index(drop=True)
lines["quantity"] = rng.integers(1, 4, len(lines))
lines["price"] = rng.choice([2.5, 5.0, 9.99], len(lines))
lines["amount"] = (lines["quantity"] * lines["price"]).round(2)
shop = {"customers": customers, "orders": orders, "lines": lines}
print({name: len(table) for name, table in shop.items()})

# %% Links are found by name, type and values. New tables have keys that always match.
from tabtreeformer import RelationalTabTreeFormer

model = RelationalTabTreeFormer(preset="trees", privacy="off", random_state=0, verbose=False).fit(shop)
print(*model.links_, sep="\n")
new = model.sample(scale=1.0, random_state=0)
print({name: len(table) for name, table in new.items()})
print("orders without a customer:", (~new["orders"]["customer_id"].isin(new["customers"]["id"])).sum())
print(
    "amount = quantity × price:",
    f"{np.isclose(new['lines'].eval('quantity * price'), new['lines']['amount']).mean():.0%}",
)

# %% The number of orders depends on the country, as in the real tables.
for name, tables in (("real", shop), ("new", new)):
    per = tables["orders"].groupby("customer_id").size().reindex(tables["customers"]["id"], fill_value=0)
    country = tables["customers"].set_index("id")["country"]
    print(name, per.groupby(country).mean().round(2).to_dict())

# %% A question across tables: only customers from France.
french = model.sample({"customers": 50}, given={"customers.country": "FR"}, random_state=0)
print(set(french["customers"]["country"]), len(french["orders"]), "orders")
