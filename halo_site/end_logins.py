"""Log out everywhere: every login of a person ends, in each browser and at the staff site, theirs here included."""

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import F
from django.utils import timezone

from .auth_watch import tell_rights_changed
from .models import LoginRound


def end_all_logins(user_id: int) -> None:
    """Call it in a transaction. Sockets, streams and terminals of these logins follow once it is committed."""
    LoginRound.objects.get_or_create(user_id=user_id)
    LoginRound.objects.filter(user=user_id).update(number=F("number") + 1)
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get(SESSION_KEY) == str(user_id):
            session.delete()
    tell_rights_changed(user_id)
