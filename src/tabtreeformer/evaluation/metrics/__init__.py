"""Utility and fidelity: how well synthetic rows serve and resemble real ones."""
