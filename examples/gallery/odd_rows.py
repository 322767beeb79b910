"""Finding odd rows, and why they are odd."""

# %% A hundred and fifty flowers, and four rows that somebody mistyped.
import pandas as pd
from sklearn.datasets import load_iris

iris = load_iris(as_frame=True)
table = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
table["species"] = iris.target_names[iris.target]
wrong = table.sample(4, random_state=1).reset_index(drop=True)
wrong.loc[0, "petal length"] = 47.0  # a decimal point lost
wrong.loc[1, "species"] = "setosa" if wrong.loc[1, "species"] != "setosa" else "virginica"
wrong.loc[2, "sepal width"] = -3.0
wrong.loc[3, ["petal length", "petal width"]] = [1.4, 2.3]  # of two different flowers
rows = pd.concat([table, wrong], ignore_index=True)

# %% The least likely rows under a model of the table, with what is surprising about each.
from tabtreeformer import TabTreeFormer

model = TabTreeFormer(target="species", random_state=0, verbose=False).fit(table)
odd = model.outliers(rows, n=6)
print(odd.to_string())
print("mistyped rows among the first six:", sorted(set(odd.index) & set(range(150, 154))))
