"""From the prompt to a stored message: whose rights, which workspace, which session. Call in a database thread."""

import base64
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User

from agents_app.scope_marks import expand
from halo_site.lib.errors import BadRequest, Conflict, HaloError, NotFound
from halo_site.lib.ids import base36
from sessions_app import actions
from sessions_app.commands import dispatch
from sessions_app.commands.context import Context
from sessions_app.models import Entry, Session
from sessions_app.uploads import InlineImage, save_inline
from workspaces_app.access import Caller
from workspaces_app.actions import open_folder
from workspaces_app.models import Workspace

from .options import Options
from .references import Resolved, resolve

PREFIX = "cli_"
_COMMAND = re.compile(r"/([a-z][\w-]*)(?:\s+(.*))?", re.S)


@dataclass(frozen=True, slots=True)
class Begun:
    """ours: this process runs the tree. text: what a slash command said."""

    session_key: int
    sid: str
    entry_key: int
    ours: bool
    text: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A slash command that set nobody to work."""

    text: str


def person(name: str | None) -> Caller:
    """Whoever stands behind the session. Raises NotFound when there is nobody.

    Who may read the home of this installation may do everything in it, so no password is asked for.
    """
    users = User.objects.filter(is_active=True)
    if name is not None:
        user = users.filter(username=name).first()
        if user is None:
            raise NotFound(f"There is no user {name}")
    else:
        user = users.filter(is_superuser=True).order_by("pk").first()
        if user is None:
            raise NotFound("There is no owner yet. Run `manage.py serve` once first.")
    return Caller.of(user)


def begin(options: Options, prompt: str, *, piped: bool, runner: str) -> Begun | Said:
    """Store the message, or run the slash command it is. Raises HaloErrors a person may read; stores nothing then."""
    caller = person(options.user)
    workspace, level = open_folder(caller, str(options.workspace))
    if not level.covers(options.access):
        raise BadRequest(f"{caller.username} has {level} access here, not {options.access}")
    sid = options.session or _newest(workspace, options) or new_id()
    _check_agent(workspace, sid, options.agent)
    command = None if piped else _COMMAND.fullmatch(prompt)
    if command is not None:
        return _run_command(command[1], command[2] or "", options, caller, workspace, sid, runner)
    resolved = Resolved(prompt) if piped else resolve(options.workspace, prompt)
    scoped = expand(Path(workspace.path), resolved.text)
    images, refused = _images(workspace, resolved.images)
    accepted = actions.accept(
        workspace=workspace,
        sid=sid,
        text=prompt,
        model_text=None if scoped.text == prompt else scoped.text,
        user_id=caller.user_id,
        level=options.access,
        agent_id=options.agent or "default",
        images=images,
        runner=runner,
    )
    warnings = (*resolved.warnings, *refused, *scoped.warnings)
    return Begun(accepted.session_key, sid, accepted.entry_id, _is_ours(accepted.session_key, runner), "", warnings)


def new_id() -> str:
    """`cli_<ms base36>` and four signs more: two that start in one millisecond must not share a session."""
    tail = "".join(base36(secrets.randbelow(36)) for _ in range(4))
    return f"{PREFIX}{base36(time.time_ns() // 1_000_000)}{tail}"


def _newest(workspace: Workspace, options: Options) -> str | None:
    """The session a prompt without `-s` and `-n` goes on with."""
    if options.new:
        return None
    own = Session.objects.roots().filter(
        workspace=workspace, archived_at=None, sid__gte=PREFIX, sid__lt=PREFIX + "\uffff"
    )
    if options.agent is not None:
        own = own.filter(agent_id=options.agent)
    return own.order_by("-created_at", "-pk").values_list("sid", flat=True).first()


def _check_agent(workspace: Workspace, sid: str, agent: str | None) -> None:
    has = Session.objects.filter(workspace=workspace, sid=sid).values_list("agent_id", flat=True).first()
    if agent is not None and has is not None and has != agent:
        raise Conflict(f"Session {sid} belongs to the agent {has}. Leave -a out, or name another session.")


def _run_command(
    name: str, rest: str, options: Options, caller: Caller, workspace: Workspace, sid: str, runner: str
) -> Begun | Said:
    exists = Session.objects.filter(workspace=workspace, sid=sid).exists()
    context = Context(
        workspace=workspace,
        caller=caller,
        level=options.access,
        lang=options.lang,
        active=sid if exists else None,
        prefix=PREFIX,
        label="CLI",
        draft=None if exists else sid,
        draft_agent=None if exists else options.agent or "default",
        channel={"type": "cli", "account_id": "", "chat_id": ""},
        runner=runner,
    )
    result = dispatch.run(name, rest, context)
    if result is None:
        raise BadRequest(dispatch.unknown(name, rest, context))
    if not result.started_turn:
        return Said(result.text)
    session = Session.objects.get(workspace=workspace, sid=result.session_id)
    entry = Entry.objects.filter(session=session, kind=Entry.Kind.USER).order_by("-pk").values_list("pk", flat=True)[0]
    return Begun(session.pk, session.sid, entry, session.runner == runner, result.text)


def _is_ours(session_key: int, runner: str) -> bool:
    return Session.objects.filter(pk=session_key, runner=runner).exists()


def _images(workspace: Workspace, found: tuple[bytes, ...]) -> tuple[list[dict[str, object]], list[str]]:
    """Blocks of the message, and a line for each that cannot go along."""
    blocks: list[dict[str, object]] = []
    refused = []
    for number, data in enumerate(found, 1):
        try:
            if len(blocks) == actions.MAX_IMAGES:
                raise BadRequest(f"at most {actions.MAX_IMAGES} images go with a message")
            blocks += save_inline(workspace, [InlineImage(base64.b64encode(data).decode())])
        except HaloError as error:
            refused.append(f"image {number} was left out: {error}")
    return blocks, refused
