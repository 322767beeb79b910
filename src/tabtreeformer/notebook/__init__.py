"""How a model is displayed in a notebook, and its report."""
