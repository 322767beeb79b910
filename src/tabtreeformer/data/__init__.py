"""Tables and what their columns are: schema, reading and writing, what enough rows support."""
