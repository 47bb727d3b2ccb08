"""What stands in front of a message for the model: where it came from. Pure (spec relay, SECURITY-BAR M4).

Nothing is ever decided by these texts, but a model reads them; so a person who types one is shown to it as typed.
"""

RELAY_CHANNEL_PREFIX = "[channel: relay | from: "
OURS = ("[channel:", "[relay ", "[sub-agent interim report", "[system @", "[server restarted]")


def from_workspace(path: str, text: str) -> str:
    """A task of another workspace, as the model reads it."""
    return f"{RELAY_CHANNEL_PREFIX}{path}]\n{text}"


def unmarked(text: str) -> str:
    """A person's text: one that begins like a mark of ours gets a backslash in front."""
    start = text.lstrip()
    return f"\\{start}" if start.lower().startswith(OURS) else text
