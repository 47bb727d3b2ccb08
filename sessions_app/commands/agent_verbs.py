"""`/agent ...`."""

from pathlib import Path

from agents_app import agent_actions
from agents_app.agents import Agent, Listed, list_agents
from agents_app.disabled import disabled_in
from agents_app.item_places import find_place
from halo_site.lib.db import in_transaction
from halo_site.lib.errors import HaloError

from .context import Context, Result
from .help import grid
from .sessions import active_session, agent_for_new, make_session

DESCRIPTION = 30  # characters


def usable(context: Context) -> list[Agent]:
    """Those people may pick, in the order in which they are numbered."""
    listed = list_agents(Path(context.workspace.path), disabled_in(context.workspace.pk))
    return [entry.agent for entry in listed if entry.agent is not None and entry.offered]


def list_(context: Context, rest: str) -> Result:
    agents = usable(context)
    if not agents:
        return Result(text=context.say("agents.empty"))
    session = active_session(context)
    rows = []
    for number, agent in enumerate(agents, 1):
        mark = " ◀" if session is not None and session.agent_id == agent.id else ""
        about = " ".join(agent.config.description.split())[:DESCRIPTION]
        rows.append((f"{number}. {agent.name} ({agent.id}){mark}", about))
    return Result(text="\n".join([context.say("agents.title"), *grid(rows)]))


def _chosen(context: Context, named: str) -> Agent | None:
    """By number, id or name."""
    agents = usable(context)
    if named.isascii() and named.isdigit() and 1 <= int(named[:9]) <= len(agents):
        return agents[int(named) - 1]
    same = [agent for agent in agents if agent.id == named]
    same += [agent for agent in agents if agent.name.casefold() == named.casefold()]
    return same[0] if same else None


def _missing(context: Context, verb: str, named: str) -> Result:
    if not named or named.isdigit():
        return Result(text=context.say("agent.usage", verb=verb, max=len(usable(context))))
    return Result(text=context.say("agent.not_found", name=named))


def switch(context: Context, rest: str) -> Result:
    """Another agent means another session: the agent of a conversation is fixed."""
    agent = _chosen(context, rest)
    if agent is None:
        return _missing(context, "switch", rest)
    try:
        session = make_session(context, agent)
    except HaloError as error:
        return Result(text=context.say("agent.failed", error=error))
    return Result(text=context.say("agent.done", name=agent.name), switch_to=session.sid)


def desc(context: Context, rest: str) -> Result:
    agent = _chosen(context, rest)
    if agent is None:
        return _missing(context, "desc", rest)
    model = agent.config.model
    none = context.say("context.none")
    lines = [
        f"{agent.name} ({agent.id}, {agent.scope})",
        agent.config.description,
        *grid(
            [
                (context.say("context.model"), f"{model.provider}/{model.id}"),
                (context.say("context.tools"), ", ".join(agent.config.tools) or none),
                (context.say("context.skills"), ", ".join(agent.config.skills) or none),
            ]
        ),
    ]
    return Result(text="\n".join(line for line in lines if line))


def delete(context: Context, rest: str) -> Result:
    """The folder that serves the id. Told twice, since nothing brings it back."""
    named, _, confirmed = rest.partition(" ")
    entry = _folder(context, named)
    if entry is None:
        key, values = ("agent.not_found", {"name": named}) if named else ("agent.delete_usage", {})
        return Result(text=context.say(key, **values))
    if confirmed.strip() != "confirm":
        return Result(text=context.say("agent.delete_confirm", name=entry.id, scope=entry.scope))
    try:
        _delete(context, entry)
    except HaloError as error:
        return Result(text=context.say("agent.failed", error=error))
    return Result(text=context.say("agent.delete_done", name=entry.id, scope=entry.scope))


def _folder(context: Context, named: str) -> Listed | None:
    """Broken and disabled ones too. By number of the list of usable ones, by id, or by name."""
    chosen = _chosen(context, named)
    wanted = chosen.id if chosen else named
    listed = list_agents(Path(context.workspace.path), disabled_in(context.workspace.pk))
    return next((entry for entry in listed if entry.id == wanted and not entry.overridden), None)


@in_transaction
def _delete(context: Context, entry: Listed) -> None:
    place = find_place(context.caller, "agent", entry.id, entry.scope, context.workspace.path, writing=True)
    agent_actions.delete(context.caller, place, None, context.address)


def default_name(context: Context) -> str:
    """Id of the agent whose skills count where no session is open."""
    if context.draft_agent:
        return context.draft_agent
    try:
        return agent_for_new(context).id
    except HaloError:
        return "default"
