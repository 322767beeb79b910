"""Codecs: one for each way of encoding a column as ids."""
