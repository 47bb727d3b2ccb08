"""What the model gets of a message, and what its person is told about it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents_app.scope_marks import Scoped
from halo_site.lib.prepared import insert_row
from halo_site.lib.publish import publish, session_topic

from .events import ChatSystem
from .marks import unmarked
from .models import Entry, Session


def for_model(text: str, scoped: Scoped) -> dict[str, Any]:
    """What the model gets in place of the text, when the two differ: the instructions that `@scope` names, and a person
    who writes what only we write in front of a message."""
    told = unmarked(scoped.text)
    return {} if told == text else {"model_text": told}


def warn(session: Session, warnings: Sequence[str]) -> None:
    """Lines for the person only; the message itself is accepted."""
    for warning in warnings:
        text = f"⚠ {warning}"
        insert_row(
            Entry,
            session_id=session.pk,
            kind=Entry.Kind.NOTICE,
            text=text,
            in_context=False,
            created_at=timezone.now(),
        )
        shown = ChatSystem(session_id=session.sid, text=text)
        transaction.on_commit(partial(publish, session_topic(session.root_key), shown))
