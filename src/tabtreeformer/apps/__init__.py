"""Programs around the library: a server for assistants."""
