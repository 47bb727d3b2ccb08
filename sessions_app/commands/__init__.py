"""Slash commands: one dispatcher for browser, bots, command line and whoever comes later (spec commands.md).

`dispatch.run(token, rest, context)` does it all. A surface makes the `Context`, shows the text of the `Result`, and
follows its `switch_to` and `workspace`.
"""
