"""`/evo [hint]`: a person asks for an evolution run on the open conversation.

Evolution lives above this app and fills the slot; until it does, the command says that there is none.
"""

from collections.abc import Callable
from typing import Literal

from ..models import Session
from .context import Context, Result
from .sessions import active_session

Answer = Literal["queued", "snapshot_failed", "queue_failed"]
Queue = Callable[[Session, str, int], Answer]

_queue: Queue | None = None


def on_evolve(queue: Queue) -> None:
    """For the app that evolves, in its `AppConfig.ready`. queue(session, hint, user id) stores the wish, no more."""
    global _queue
    if _queue is not None:
        raise ValueError("/evo is served already")
    _queue = queue


def evolve(context: Context, rest: str) -> Result:
    session = active_session(context)
    if session is None or ">" in session.sid:
        return Result(text=context.say("evo.no_session"))
    answer: Answer = "queue_failed" if _queue is None else _queue(session, rest, context.caller.user_id)
    return Result(text=context.say(f"evo.{answer}"), session_id=session.sid)
