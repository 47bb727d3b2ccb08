"""Runs sessions: lease, drain, model calls, tools, end of turn, recovery (ARCHITECTURE 5)."""
