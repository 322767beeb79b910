"""Tables and their columns: the schema, readers and writers, and what is backed by enough rows."""
