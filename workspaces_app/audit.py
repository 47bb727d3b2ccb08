"""The trail of who did what, when, from where. Rows are only ever added; staff read them in the admin.

    audit("session.delete", actor=request.caller, target=sid, workspace=workspace, request=request)

Actions are named `noun.verb` (`session.delete`, `user.change`); the login writes `login`, `login.failed`, `logout`.
Call it inside the transaction of the act, so that neither is stored without the other.
"""

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest

from halo_site.lib.text import clean, clean_json

from .access import Caller
from .models import AuditEvent, Workspace


def audit(
    action: str,
    *,
    actor: Caller | User | AnonymousUser | None = None,
    target: object = "",
    workspace: Workspace | None = None,
    request: HttpRequest | None = None,
    address: str = "",
    detail: dict[str, object] | None = None,
) -> AuditEvent:
    """Add one row. `address` defaults to the request's; `detail` must be JSON and hold no secret."""
    actor_id, name = None, ""
    if isinstance(actor, Caller):
        actor_id, name = actor.user_id, actor.username
    elif isinstance(actor, User):
        actor_id, name = actor.pk, actor.username
    return AuditEvent.objects.create(
        action=action[:64],
        actor_id=actor_id,
        actor_name=name,
        target=clean(str(target))[:255],
        workspace=workspace,
        address=(address or (str(request.META.get("REMOTE_ADDR", "")) if request else ""))[:64],
        detail=clean_json(detail or {}),
    )
