"""Reviewed changes of an agent's own prompts."""
