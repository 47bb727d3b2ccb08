"""How far a person has looked at a session: the unseen dot follows the person, not the browser (DESIGN 13)."""

from django.db import IntegrityError, transaction

from .models import Session, SessionSeen


def mark_seen(user_id: int, session: Session, seq: int) -> None:
    """Remember the newest frame a person has seen. Never moves back, never past what the session has."""
    reached = min(seq, session.seq)
    mine = SessionSeen.objects.filter(user=user_id, session=session.pk)
    if mine.filter(seq__lt=reached).update(seq=reached) or mine.exists():
        return
    try:
        with transaction.atomic():
            SessionSeen.objects.create(user_id=user_id, session_id=session.pk, seq=reached)
    except IntegrityError:  # another tab was quicker, or the session was deleted in this instant
        mine.filter(seq__lt=reached).update(seq=reached)
