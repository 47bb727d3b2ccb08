"""Whether this process can relay: not in a CLI or TUI started with `--standalone` (spec README 8, relay R2)."""

RELAY_UNAVAILABLE = (
    "relay is not available in the CLI / TUI — it only runs inside halo server. This is permanent for this runtime: do "
    "not retry. Send from the admin UI or an IM / Web channel, or open the target with `halo tui -w <workspace path>`."
)

_available = True


def available() -> bool:
    return _available


def switch_off() -> None:
    """For the start of a process with a database of its own. The tools stay visible and say that they cannot work."""
    from agents_app.tools import add_relay_tools

    from . import tools

    global _available
    _available = False
    add_relay_tools(*tools.UNAVAILABLE)


def switch_on() -> None:
    """The state a process begins with."""
    from agents_app.tools import add_relay_tools

    from . import tools

    global _available
    _available = True
    add_relay_tools(*tools.TOOLS)
