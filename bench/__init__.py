"""Measurements against a real server and a fake model server; `python -m bench.run --help`."""
