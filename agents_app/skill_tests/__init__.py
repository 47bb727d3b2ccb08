"""Tries a skill without a model that costs money: its `tests.yaml`, played with the real tools (docs/skills.md)."""
