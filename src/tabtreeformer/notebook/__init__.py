"""What a model shows of itself in a notebook, and the report that it can be asked for."""
