"""`/session compact`."""

from ..engine import manual_compact
from .context import Context, Result
from .sessions import active_session


def compact(context: Context, rest: str) -> Result:
    """The answer comes at once, the summary takes its time: its frames reach all who look at the session."""
    session = active_session(context)
    if session is None:
        return Result(text=context.say("compact.no_session"), compaction="no_session")
    outcome = manual_compact.request(session.pk)
    return Result(
        text=context.say(f"compact.{outcome}"),
        compaction=outcome,
        session_id=session.sid,
        context_tokens=session.context_tokens,
    )
