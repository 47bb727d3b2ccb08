"""The hub: sockets of browsers, and the way of each frame to those who look at its subject (ARCHITECTURE 6)."""


async def close_all() -> None:
    """Say goodbye (1001) to every socket of this process and accept no new one; terminals end."""
    from .service import the_hub

    hub = the_hub()
    hub.close_all()
    hub.terminals.close()
