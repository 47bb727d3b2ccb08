"""How the server process starts, lives and ends: lock, first start, children, shutdown."""
