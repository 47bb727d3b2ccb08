"""Placeholders of a server's entry, filled when it starts. What they gave is never shown (spec tools 3.16).

`{{<agent id>.params.<key>}}` anywhere, `{{<agent id>.secrets.<key>}}` in `env` and `headers`. Another agent's id, and
a value nobody set, are errors: a server must not be started with the placeholder as its key.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError

from ..settings_sections import declared
from .config import PLACEHOLDER, McpServer

_ENV = re.compile(r"<<[A-Z_][A-Z0-9_]*>>")


class ValueMissing(HaloError):
    """A placeholder cannot be filled; names it and where to set it."""

    status, code = 422, "mcp_value_missing"


@dataclass(frozen=True, slots=True)
class Launch:
    """What a server is started or reached with. `repr` shows nothing of what may be secret."""

    name: str
    transport: str
    timeout: float  # seconds
    command: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)  # values to mask wherever they turn up


def launch_of(server: McpServer, agent_id: str, workspace: Path, *, ours: bool) -> Launch:
    """ours: the agent is the home's. One of a workspace may be a stranger's: it gets the secrets of that workspace
    only, and of the home only params that anybody may read (docs/decisions/0009). Raises ValueMissing.
    """
    secrets: list[str] = []
    fields = declared(workspace)
    own = settings_store.secrets_of(agent_id, workspace, only=None if ours else "workspace")

    def secret(owner: str, key: str) -> str:
        value = own.get(key) if owner == agent_id else None
        if value is None:
            raise _missing(server, owner, "secrets", key, agent_id)
        secrets.append(value)
        return value

    def param(owner: str, key: str) -> str:
        path = f"{owner}.params.{key}"
        known = fields.get(path)
        if owner != agent_id:
            raise _missing(server, owner, "params", key, agent_id)
        raw, scope = settings_store.raw(path, workspace, global_only=bool(known and known.global_only))
        if raw is None and known is not None and known.default:
            raw, scope = known.default, "global"
        if raw is None or isinstance(raw, list | dict):
            raise _missing(server, owner, "params", key, agent_id)
        text = str(raw).lower() if isinstance(raw, bool) else str(raw)
        from_env = scope == "global" and _ENV.search(text) is not None
        guarded = from_env or bool(known and known.secret)
        if guarded and scope == "global" and not ours:
            raise _missing(server, owner, "params", key, agent_id)
        value = settings_store.expand_env(text) if from_env else text
        if guarded:
            secrets.append(value)
        return value

    def filled(text: str) -> str:
        """One pass: what a value holds is not looked at again. The schema keeps secrets out of all but two fields."""
        return PLACEHOLDER.sub(lambda found: (secret if found[2] == "secrets" else param)(found[1], found[3]), text)

    return Launch(
        name=server.name,
        transport=server.transport,
        timeout=server.timeout,
        command=tuple(filled(word) for word in (server.command, *server.args)) if server.command else (),
        env=tuple((name, filled(value)) for name, value in sorted(server.env.items())),
        url=filled(server.url),
        headers=tuple((name, filled(value)) for name, value in sorted(server.headers.items())),
        secrets=tuple(dict.fromkeys(secrets)),
    )


def _missing(server: McpServer, owner: str, kind: str, key: str, agent_id: str) -> ValueMissing:
    place = f"{{{{{owner}.{kind}.{key}}}}}"
    if owner != agent_id:
        return ValueMissing(f"{place} belongs to {owner}; {server.name} may use those of {agent_id} only")
    return ValueMissing(f"{place} is not set; set it in the settings of {agent_id}, in the same scope as the agent")
