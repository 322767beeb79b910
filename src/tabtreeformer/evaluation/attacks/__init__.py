"""Privacy attacks: what synthetic rows reveal about the training rows."""
