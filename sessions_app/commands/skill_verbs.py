"""`/skill ...`."""

from agents_app import skill_actions
from agents_app.disabled import disabled_in, mirror, set_disabled
from agents_app.item_news import announce_item
from agents_app.item_places import find_place
from agents_app.skills import Skill, list_skills
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import HaloError
from workspaces_app.audit import audit

from .context import Context, Result
from .help import grid

DESCRIPTION = 40  # characters


def _all(context: Context) -> list[Skill]:
    return list_skills(context.folder, disabled_in(context.workspace.pk))


def list_(context: Context, rest: str) -> Result:
    skills = _all(context)
    if not skills:
        return Result(text=context.say("skills.empty"))
    rows = []
    for number, skill in enumerate(skills, 1):
        flags = [
            context.say(f"skills.{name}")
            for name, on in (
                ("disabled", skill.disabled),
                ("overridden", skill.overridden),
                ("broken", bool(skill.file.error)),
            )
            if on
        ]
        marks = f" [{', '.join(flags)}]" if flags else ""
        rows.append((f"{number}. {skill.id} ({skill.scope}){marks}", skill.file.description[:DESCRIPTION]))
    return Result(text="\n".join([context.say("skills.title"), *grid(rows)]))


def _chosen(context: Context, named: str) -> Skill | None:
    """By number of the list, by id or by name; of two with one id the workspace's."""
    skills = _all(context)
    if named.isascii() and named.isdigit() and 1 <= int(named[:9]) <= len(skills):
        return skills[int(named) - 1]
    serving = [skill for skill in skills if not skill.overridden]
    same = [skill for skill in serving if skill.id == named]
    same += [skill for skill in serving if skill.file.name.casefold() == named.casefold()]
    return same[0] if same else None


def _missing(context: Context, verb: str, named: str) -> Result:
    if not named:
        return Result(text=context.say(f"skill.usage_{verb}"))
    return Result(text=context.say("skill.not_found", name=named))


def desc(context: Context, rest: str) -> Result:
    skill = _chosen(context, rest)
    if skill is None:
        return _missing(context, "desc", rest)
    command = f"/{skill.file.command}" if skill.file.command else ""
    lines = [f"{skill.file.name} ({skill.id}, {skill.scope}) {command}".rstrip(), skill.file.description]
    lines += [context.say("skill.load_failed", error=skill.file.error)] if skill.file.error else []
    lines += grid((f"{command} {verb.name}".strip(), verb.desc) for verb in skill.file.verbs)
    return Result(text="\n".join(line for line in lines if line))


def disable(context: Context, rest: str) -> Result:
    return _switch(context, rest, off=True)


def enable(context: Context, rest: str) -> Result:
    return _switch(context, rest, off=False)


def _switch(context: Context, rest: str, *, off: bool) -> Result:
    """For the scope of the skill, so that what is off is off for everybody who asks."""
    skill = _chosen(context, rest)
    if skill is None:
        return _missing(context, "disable" if off else "enable", rest)
    if not _set(context, skill, off=off):
        return Result(text=context.say("skill.already_disabled" if off else "skill.already_enabled", name=skill.id))
    mirror(context.workspace)
    return Result(text=context.say("skill.disabled_done" if off else "skill.enabled_done", name=skill.id))


@in_transaction
def _set(context: Context, skill: Skill, *, off: bool) -> bool:
    changed = set_disabled(context.workspace, "skill", skill.id, skill.scope, off=off)
    if changed:
        audit(
            "skill.disable" if off else "skill.enable",
            actor=context.caller,
            target=skill.id,
            workspace=context.workspace,
            address=context.address,
            detail={"scope": skill.scope},
        )
        announce_item("skill", skill.scope, context.workspace)
    return changed


def delete(context: Context, rest: str) -> Result:
    """Told twice, since nothing brings it back."""
    named, _, confirmed = rest.partition(" ")
    skill = _chosen(context, named)
    if skill is None:
        return _missing(context, "delete", named)
    if confirmed.strip() != "confirm":
        return Result(text=context.say("skill.delete_confirm", name=skill.id, scope=skill.scope))
    try:
        _delete(context, skill)
    except HaloError as error:
        return Result(text=context.say("skill.delete_failed", error=error))
    return Result(text=context.say("skill.delete_done", name=skill.id, scope=skill.scope))


@in_transaction
def _delete(context: Context, skill: Skill) -> None:
    place = find_place(context.caller, "skill", skill.id, skill.scope, context.workspace.path, writing=True)
    skill_actions.delete(context.caller, place, None, context.address)
