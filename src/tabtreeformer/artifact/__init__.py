"""A fitted model, its file, and the limits for files from strangers."""
