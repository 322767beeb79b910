"""Runs that resume after an interruption: the folder, the state of a run, and what identifies a run."""
