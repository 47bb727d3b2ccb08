"""`/session ...`."""

from datetime import datetime
from pathlib import Path

from django.conf import settings

from agents_app.agents import load_agent
from agents_app.disabled import disabled_in
from agents_app.outfit import material
from agents_app.prompt_files import BuiltPrompt
from agents_app.providers.contract import ModelConfig, ProviderError
from agents_app.providers.registry import resolve_model
from halo_site.lib.access_level import Access, lowest
from halo_site.lib.errors import HaloError

from .. import actions
from ..engine.lease import is_live
from ..models import Entry, Session
from .context import Context, Result
from .help import grid
from .sessions import active_session, agent_for_new, make_session, new_id, visible

PAGE = 50
TITLE, DESCRIPTION = 24, 40  # characters
TAGS = {"tg": "tg", "wx": "wx", "web": "web", "slack": "slack", "feishu": "feishu", "wecom": "wecom", "cli": "cli"}


def new(context: Context, rest: str) -> Result:
    """In a browser only an id: what is not said yet is a draft and leaves no row (spec sessions 3.4)."""
    if context.is_browser:
        return Result(text=context.say("new.done"), switch_to=new_id(context))
    try:
        session = make_session(context, agent_for_new(context))
    except HaloError as error:
        return Result(text=context.say("new.failed", error=error))
    return Result(text=context.say("new.done"), switch_to=session.sid)


def list_(context: Context, rest: str) -> Result:
    """A page of sessions, or those whose title holds a text; the numbers are always those of the whole list."""
    keys = list(visible(context).values_list("pk", flat=True))
    if not keys:
        return Result(text=context.say("list.empty"))
    numbers = {key: number for number, key in enumerate(keys, 1)}
    page = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 6 else 1
    found = visible(context)
    if rest and not rest.isdigit():
        found = found.filter(title__icontains=rest)
    count = found.count()
    rows = found[(max(1, page) - 1) * PAGE : max(1, page) * PAGE]
    active = active_session(context)
    lines = [_row(context, numbers[row.pk], row, active) for row in rows if row.pk in numbers]
    if not lines:
        return Result(text=context.say("list.none"))
    foot = [context.say("list.switch_full" if context.level is Access.FULL else "list.switch_readonly")]
    if count > page * PAGE:
        foot.insert(0, context.say("list.more", shown=len(lines), all=count, page=page + 1))
    return Result(text="\n".join([context.say("list.title"), *lines, *foot]))


def _row(context: Context, number: int, session: Session, active: Session | None) -> str:
    mark = "→" if active is not None and active.pk == session.pk else " "
    title = _short(_title(context, session), TITLE)
    return f"{mark} {number}. [{_tag(context, session)}] {_time(session.created_at)}  {title}"


def _tag(context: Context, session: Session) -> str:
    mine = session.created_by_id == context.caller.user_id
    if (mine and session.sid.startswith("sid_")) if context.is_browser else session.sid.startswith(context.prefix):
        return "我" if context.lang == "zh" else "me"
    return TAGS.get(session.sid.partition("_")[0], "admin")


def _title(context: Context, session: Session) -> str:
    return session.title or context.say("list.untitled")


def _short(words: str, limit: int) -> str:
    line = " ".join(words.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _time(moment: datetime) -> str:
    """As the clock of this machine shows it."""
    return moment.astimezone().strftime("%m-%d %H:%M")


def info(context: Context, rest: str) -> Result:
    root = active_session(context)
    if root is None:
        return Result(text=context.say("info.no_session"))
    tree = [root, *Session.objects.filter(root=root.pk).order_by("pk")]
    lines = [context.say("info.head", agent=root.agent_name, root=root.sid[-12:])]
    for session in tree:
        depth = session.sid.count(">")
        branch = "→ " if not depth else "  " * depth + "├ "
        values = {"created": _time(session.created_at), "active": _time(session.updated_at)}
        icon = _icon(session)
        lines.append(f"{branch}{context.say('info.line', icon=icon, name=_name(context, session), **values)}".rstrip())
    return Result(text="\n".join(lines))


def _name(context: Context, session: Session) -> str:
    title = _title(context, session)
    return _short(f"{session.agent_name}: {title}" if session.parent_id else title, DESCRIPTION)


def _icon(session: Session) -> str:
    if session.archived_at:
        return "📦"
    if session.stopped_at is None and is_live(session.pk):
        return "🟢"
    return "⏹" if session.stopped_at else "·"


def switch(context: Context, rest: str) -> Result:
    """By number of the list, or by the end of an id."""
    rows = list(visible(context))
    if not rows:
        return Result(text=context.say("switch.empty"))
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 6 else 0
    if not 1 <= number <= len(rows):
        ending = [place for place, row in enumerate(rows, 1) if len(rest) >= 4 and row.sid.endswith(rest)]
        number = ending[0] if len(ending) == 1 else 0
    if number == 0:
        return Result(text=context.say("switch.usage", max=len(rows)))
    session = rows[number - 1]
    words = {"idx": number, "time": _time(session.created_at), "desc": _short(_title(context, session), DESCRIPTION)}
    return Result(text=context.say("switch.done", **words), switch_to=session.sid)


def stop(context: Context, rest: str) -> Result:
    session = active_session(context)
    if session is None:
        return Result(text=context.say("stop.no_session"))
    done = actions.stop(session.pk, user_id=context.caller.user_id)
    return Result(text=context.say("stop.done" if done else "stop.already_idle"))


def interrupt(context: Context, rest: str) -> Result:
    session = active_session(context)
    if session is None:
        return Result(text=context.say("interrupt.no_session"))
    done = actions.interrupt(session.pk, user_id=context.caller.user_id)
    return Result(text=context.say("interrupt.done" if done else "interrupt.already_idle"))


def context_(context: Context, rest: str) -> Result:
    """What the agent of the session works with, at the level a turn of this caller would have."""
    session = active_session(context)
    if session is None:
        return Result(text=context.say("context.no_session"))
    disabled = disabled_in(context.workspace.pk)
    try:
        agent = load_agent(context.folder, session.agent_id, disabled)
        model = resolve_model(agent.model, secrets={}, context_tokens=agent.config.context.max_tokens)
        level = lowest(context.level, Access.stored(session.access_level))
        worn = material(
            agent,
            context.folder,
            level=level,
            is_root=True,
            vision=model.vision,
            disabled=disabled,
            working_dir=session.working_dir or "",
        ).outfit()
    except (HaloError, ProviderError) as error:
        return Result(text=context.say("context.not_loaded", error=error))
    used, most = session.context_tokens, model.context_window
    tokens = {"used": f"{used:,}", "max": f"{most:,}", "percent": round(100 * used / most) if most else 0}
    none = context.say("context.none")
    rows = [
        ("workspace", context.workspace.path),
        ("agent", f"{agent.name} ({agent.id})"),
        ("model", f"{model.provider}/{model.model}"),
        ("thinking", _thinking(model) or none),
        ("tokens", context.say("context.tokens_of", **tokens)),
        ("messages", str(Entry.objects.filter(session=session, deleted=None).exclude(kind="notice").count())),
        ("tools", ", ".join(worn.tools) or none),
        ("skills", ", ".join(skill.id for skill in worn.skills) or none),
    ]
    first, *others = [_source(context, worn.prompt, source) for source in worn.prompt.sources] or [none]
    heads = [*((context.say(f"context.{key}"), value) for key, value in rows), (context.say("context.files"), first)]
    return Result(text="\n".join(grid([*heads, *(("", other) for other in others)])))


def _source(context: Context, prompt: BuiltPrompt, source: str) -> str:
    """A file of the prompt, from the workspace or from the home, with what it adds to every request."""
    bases = (context.folder, Path(settings.HALO.global_dir))
    name = next((str(Path(source).relative_to(base)) for base in bases if Path(source).is_relative_to(base)), source)
    size = prompt.sizes.get(source)
    if size is None:
        return name
    cut = f", {context.say('context.cut')}" if size.cut else ""
    return f"{name} ({size.bytes / 1024:.1f} KiB{cut})"


def _thinking(model: ModelConfig) -> str:
    return str(model.thinking_budget or model.thinking_effort or "medium") if model.thinking else ""
