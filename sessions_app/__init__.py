"""A conversation: sessions, turns, entries, and the engine that runs them."""
