"""Tools of MCP servers that an agent lists under `mcp:` (spec tools 3.16).

`config.py` is the schema, `values.py` fills its placeholders, `wire.py` the messages (pure), `stdio.py` and `http.py`
the two transports, `server.py` one server's life, `pool.py` all of them, `offer.py` makes tools of theirs, `states.py`
tells people. Only the schema is imported before an agent has a server. Why there is no library: docs/decisions/0011.
"""

import sys


async def close() -> None:
    """Ends every server of this event loop. Costs nothing when there never was one."""
    if pool := sys.modules.get(f"{__name__}.pool"):
        await pool.close_pool()
