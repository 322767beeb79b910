"""Attacks on a fitted model and its verdict, the audit of a file, differential privacy, the model card."""
