"""One codec per way of writing a column as ids."""
