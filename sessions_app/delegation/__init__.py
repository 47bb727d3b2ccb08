"""Agents that start agents: the eight session tools, reports to the parent, the state of siblings (spec sessions 9)."""
