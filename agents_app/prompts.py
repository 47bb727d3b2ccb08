"""The system prompt of a session: which texts, in which order (spec agents-and-prompts 3.5). `compose` is pure.

Byte-stable: the same inputs give the same text, so that vendors' prompt caches hit from turn to turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

RULE = "\n\n---\n\n"
BLANK = "\n\n"

INDEX_INTRO = "What is known about this project, kept in `.halo/INDEX.md`:"
INDEX_NUDGE = (
    "There is no project index yet (`.halo/INDEX.md`). Once real project work starts, propose `/workspace setup`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptParts:
    """The texts of one build. Empty strings are left out; nothing is read or rendered here any more.

    persona: AGENT.md with placeholders filled. instructions: the effective root-level file. chain: instructions of
    the folders down to working_dir. index: INDEX.md. bootstrap, root_scope, all_scope: prompt scopes. tools: names of
    everything the agent is really given, in order.
    """

    workspace: str
    is_root: bool
    internal: bool = False
    persona: str = ""
    system_prompt: str = ""
    roster: str = ""
    user: str = ""
    instructions: str = ""
    working_dir: str = ""  # absolute
    chain: str = ""
    index: str = ""
    bootstrap: str = ""
    root_scope: str = ""
    all_scope: str = ""
    skills: str = ""
    tools: Sequence[str] = ()


def compose(parts: PromptParts) -> str:
    """The whole system prompt."""
    layer = _markdown_layer(parts)
    blocks: list[str] = []
    if layer:
        if parts.is_root and not parts.internal and parts.index == "":
            layer = RULE.join([layer, f"## Project Knowledge{BLANK}{INDEX_NUDGE}"])
        blocks.append(layer)
        blocks += _places(parts)
        if not parts.internal:
            blocks += [parts.root_scope] if parts.is_root else []
            blocks.append(parts.all_scope)
    else:
        blocks += _fallback(parts)
    blocks += [parts.skills, tools_line(parts.tools)]
    text = BLANK.join(block.strip() for block in blocks if block.strip())
    if parts.is_root and not parts.internal and not parts.user.strip() and parts.bootstrap.strip():
        return parts.bootstrap.strip() + RULE + text
    return text


def _markdown_layer(parts: PromptParts) -> str:
    """Sections 1 to 6 without the nudge."""
    persona = parts.persona.strip() or parts.system_prompt.strip()
    if parts.internal:
        return persona
    sections = [
        _section("User Profile", parts.user) if parts.is_root else "",
        persona,
        parts.roster.strip() if persona else "",
        _section("User Instructions", parts.instructions),
        _section("User Instructions", parts.chain) if parts.working_dir else "",
        _section("Project Knowledge", f"{INDEX_INTRO}{BLANK}{parts.index.strip()}" if parts.index.strip() else ""),
    ]
    return RULE.join(section for section in sections if section)


def _section(title: str, body: str) -> str:
    return f"## {title}{BLANK}{body.strip()}" if body.strip() else ""


def _places(parts: PromptParts) -> list[str]:
    if parts.is_root:
        places = [f"The project workspace is at: {parts.workspace}"]
        if parts.working_dir and parts.working_dir != parts.workspace:
            places.append(f"Working directory: {parts.working_dir}")
        return places
    places = [f"The workspace root is: {parts.workspace}"]
    if parts.working_dir:
        places.append(f"Working directory: {parts.working_dir}")
    return places


def _fallback(parts: PromptParts) -> list[str]:
    """Nobody wrote anything about this agent."""
    scopes = [parts.root_scope, parts.all_scope] if parts.is_root else [parts.all_scope]
    plain = (
        f"You are a capable assistant who works in the folder {parts.workspace}. "
        "Use your tools to look before you answer, do what was asked, and say what you did."
    )
    return [plain, *([] if parts.internal else [*scopes, parts.roster])]


def tools_line(names: Sequence[str]) -> str:
    if not names:
        return "You have no tools in this session. Answer from what you know and say so when that is not enough."
    return f"Your available tools: {', '.join(names)}. Only use tools in this list."


def roster(members: Sequence[tuple[str, str, str]], own_id: str) -> str:
    """Section 3: who can be started. members: (id, name, description), self first; the same for roots and children."""
    if not members:
        return ""
    lines = [
        f"- `{agent_id}` — {name} (you)" if agent_id == own_id else f"- `{agent_id}` — {name}: {description}"
        for agent_id, name, description in members
    ]
    return (
        "## Your Team\n\n"
        "These agents can work for you: `start_session` starts one with a task, `query_agent` shows what one can do. "
        "When and how much to delegate is decided by the instructions of this workspace.\n\n" + "\n".join(lines)
    )
