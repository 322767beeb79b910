"""Programs around the library: a server for assistants and a web page."""
