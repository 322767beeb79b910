"""Privacy: what synthetic rows reveal about the rows that they were learned from."""
