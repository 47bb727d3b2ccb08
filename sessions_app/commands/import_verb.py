"""`/workspace import ...`: what somebody shared, looked at first and then taken over. Values are never typed here."""

import os
import re

from agents_app.sharing import actions
from agents_app.sharing.actions import Actor, Preview, Wanted
from agents_app.sharing.plan import ASKED, Choice
from halo_site.lib.access_level import Access
from workspaces_app.jail import Jail

from .context import Context, Result
from .help import grid

SHOWN = 40  # lines of each list
_LINE = re.compile(r"(?P<path>.+?)(?:\s+confirm\s+(?P<plan>[0-9a-f]+)(?P<replace>\s+replace)?)?", re.DOTALL)


def import_(context: Context, rest: str) -> Result:
    """`<zip>`, then `<zip> confirm <plan>` with the plan that was shown; `undo`, `undo force`."""
    actor = Actor(context.caller, address=context.address)
    workspace = actions.workspace_for(context.caller, context.workspace.path)
    if rest in ("undo", "undo force"):
        paths = actions.do_undo(workspace, force=rest != "undo", actor=actor)
        return Result(text=context.say("import.undone", items=_joined(paths)))
    typed = _LINE.fullmatch(rest)
    if typed is None:
        return Result(text=context.say("import.usage"))
    door = Jail(context.folder, level=Access.FULL, confined=True)
    with os.fdopen(door.open_file(typed["path"]), "rb") as file:
        actions.check_size(os.fstat(file.fileno()).st_size)
        seen = actions.preview(workspace, file)
        if not typed["plan"]:
            return Result(text=_shown(context, typed["path"], seen))
        replace = [step.item.path for step in seen.steps if step.verdict in ASKED] if typed["replace"] else []
        wanted = Wanted(typed["plan"], Choice(replace))
        file.seek(0)
        done = actions.do_import(workspace, file, wanted, name=os.path.basename(typed["path"]), actor=actor)
    lines = [context.say("import.done", items=_joined(done.paths))]
    if done.missing:
        lines.append(context.say("import.missing", keys=_joined(done.missing)))
    return Result(text="\n".join(lines))


def _shown(context: Context, path: str, seen: Preview) -> str:
    rows = [(step.item.path, context.say(f"import.{step.verdict}")) for step in seen.steps]
    lines = [context.say("import.title", path=path), *grid(rows[:SHOWN])]
    if len(rows) > SHOWN:
        lines.append(context.say("import.more", count=len(rows) - SHOWN))
    if seen.left_out:
        lines.append(context.say("import.left_out", items=_joined([one.path for one in seen.left_out])))
    unset = [need.key for need in seen.needs if need.required and need.key in seen.unset]
    if unset:
        lines.append(context.say("import.missing", keys=_joined(unset)))
    verdicts = {step.verdict for step in seen.steps}
    if "new" in verdicts:
        lines.append(context.say("import.confirm", path=path, plan=seen.id))
    if verdicts & ASKED:
        lines.append(context.say("import.replace", path=path, plan=seen.id))
    if not verdicts & (ASKED | {"new"}):
        lines.append(context.say("import.nothing"))
    return "\n".join(lines)


def _joined(words: list[str]) -> str:
    more = f" … (+{len(words) - SHOWN})" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more
