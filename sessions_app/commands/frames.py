"""`command:<name>` from a browser (spec ws-protocol 21 to 23)."""

from typing import Any, Literal

from pydantic import Field

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from halo_site.lib.ids import LONGEST_SID
from workspaces_app.access import level_in
from workspaces_app.models import Workspace
from workspaces_app.socket_frames import FRAMES, Bound, Frame, InWorkspace, Socket, Watched, add_frames

from ..frames import bound_for, session_in, watched
from . import dispatch
from .context import Context, Result

ANY = "command:*"


class CommandFields(InWorkspace):
    """`message` is the rest of the line. `lang`: of the app's texts."""

    type: str
    message: str = ""
    sessionId: str | None = Field(None, min_length=1, max_length=LONGEST_SID)
    agentId: str | None = Field(None, min_length=1, max_length=128)
    lang: Literal["en", "zh"] = "en"


def context_of(socket: Socket, frame: CommandFields, bound: Bound, sid: str) -> Context:
    """Of a person's browser: sessions belong to the workspace, and who may only read does not set them to work."""
    root = sid.partition(">")[0]  # a sub-agent's panel is part of its main session
    exists = session_in(bound, root) is not None
    return Context(
        workspace=Workspace.objects.get(pk=bound.key),
        caller=socket.caller,
        level=bound.level,
        lang=frame.lang,
        active=root,
        guest=bound.level is Access.READONLY,
        draft=None if exists else root,
        draft_agent=frame.agentId or (None if exists else socket.agent_id),
        address=socket.address,
    )


async def on_command(socket: Socket, frame: CommandFields) -> None:
    """Nothing of a draft is stored for it, unless a skill makes its agent work."""
    name = frame.type.partition(":")[2]
    sid = frame.sessionId or socket.active
    if sid is None:
        raise BadRequest("No active session")

    def unit() -> tuple[Bound, Result, Watched | None]:
        bound = bound_for(socket.caller, frame.projectId, socket.bound, Access.READONLY)
        context = context_of(socket, frame, bound, sid)
        result = dispatch.run(name, frame.message, context)
        if result is None:
            raise BadRequest(dispatch.unknown(name, frame.message, context))
        target = result.switch_to or (result.session_id if result.started_turn else None)
        session = session_in(bound, target) if target else None
        return _there(socket, result) or bound, result, watched(session) if session else None

    bound, result, session = await socket.unit(unit)
    socket.bind(bound)
    for answer in _answers(sid, result):
        socket.send(answer)
    if session is not None:
        socket.listen(session, idle=False)
    if result.switch_to or (result.started_turn and session is not None):
        socket.active = result.switch_to or result.session_id
    if result.switch_to:
        socket.send({"type": "session:switched", "sessionId": result.switch_to})


def _there(socket: Socket, result: Result) -> Bound | None:
    """The workspace a command led to."""
    workspace = Workspace.objects.filter(path=result.workspace).first() if result.workspace else None
    level = level_in(socket.caller, workspace.pk) if workspace else None
    return Bound(workspace.pk, workspace.path, level) if workspace and level else None


def _answers(sid: str, result: Result) -> list[dict[str, Any]]:
    """A compaction has frames of its own (spec ws-protocol, Errors); everything else is one line of text."""
    match result.compaction:
        case "started":
            return []
        case "nothing":
            unchanged = {"message": result.text, "contextTokens": result.context_tokens}
            return [{"type": "session:compacted", "sessionId": sid, **unchanged}]
        case "":
            found: list[dict[str, Any]] = [{"type": "chat:system", "sessionId": sid, "text": result.text}]
            if result.workspace:
                found.append({"type": "workspace:switched", "path": result.workspace})
            return found
        case outcome:
            return [{"type": "error", "error": result.text, "code": f"compact_{outcome}", "sessionId": sid}]


def register() -> None:
    """Once, from `SessionsConfig.ready()`."""
    if ANY not in FRAMES:
        add_frames(Frame(name=ANY, fields=CommandFields, handle=on_command, needs=Access.READONLY))
