"""Which sessions a command sees, and making new ones (spec commands, rules 13 to 15)."""

import time
from pathlib import Path

from django.utils import timezone

from agents_app.agents import Agent, default_agent
from agents_app.disabled import disabled_in
from halo_site.lib.access_level import Access
from halo_site.lib.db import in_transaction
from halo_site.lib.ids import base36, new_sid

from ..actions import after_commit
from ..models import Session, SessionQuerySet
from .context import Context


def visible(context: Context) -> SessionQuerySet:
    """Main sessions, newest made first: all for full access, else those of one's own. Numbers count in this order."""
    found = Session.objects.roots().listed().filter(workspace=context.workspace.pk, archived_at=None)
    if context.level is not Access.FULL and context.prefix:
        found = found.filter(sid__gte=context.prefix, sid__lt=context.prefix + "\uffff")
    return found.order_by("-created_at", "-pk")


def active_session(context: Context) -> Session | None:
    """The session a command acts on: the one that is open, else the newest of one's own.

    One that is gone counts as none for full access: the newest session could be anybody's. In a browser nothing
    stands in for an open session.
    """
    if context.active is not None:
        found = visible(context).filter(sid=context.active).first()
        if found is not None or context.is_browser or context.level is Access.FULL:
            return found
    elif context.is_browser:
        return None
    own = visible(context).filter(sid__gte=context.prefix, sid__lt=context.prefix + "\uffff")
    return own.first()


def agent_for_new(context: Context) -> Agent:
    """Raises AgentNotFound when nobody can be picked."""
    return default_agent(Path(context.workspace.path), disabled_in(context.workspace.pk))


def new_id(context: Context) -> str:
    """An id that belongs to the caller."""
    return new_sid() if context.is_browser else f"{context.prefix}{base36(time.time_ns() // 1_000_000)}"


@in_transaction
def make_session(context: Context, agent: Agent) -> Session:
    """A main session without a message, with no more rights than the caller has."""
    now = timezone.now()
    session = Session.objects.create(
        workspace=context.workspace,
        sid=new_id(context),
        agent_id=agent.id,
        agent_name=agent.name,
        description=context.label,
        source=Session.Source.EXPLORER,
        created_by_id=context.caller.user_id,
        access_level=context.level.value,
        created_at=now,
        updated_at=now,
    )
    after_commit(session, listed=True)
    return session
