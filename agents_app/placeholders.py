"""`{{...}}` in AGENT.md and SKILL.md (spec agents-and-prompts 3.7). Pure.

What may not be resolved stays as it stands: secrets, `general.*`, other owners' params, unknown names.
"""

import re
from collections.abc import Callable, Mapping

_PLACEHOLDER = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}")
_PARAM = re.compile(r"([\w-]+)\.params\.([\w-][\w.-]*)")

BUILT_INS = (
    "args",
    "workspace_root",
    "working_dir",
    "global_dir",
    "now",
    "user_name",
    "ai_name",
    "agent_name",
    "channel.type",
    "channel.account_id",
    "channel.chat_id",
)


def render(
    text: str,
    values: Mapping[str, str],
    *,
    own_id: str = "",
    param: Callable[[str], str | None] | None = None,
) -> str:
    """`text` with its placeholders filled.

    values: built-ins by name. own_id: the only id whose `{{id.params.key}}` may be resolved. param: key -> value of
    a parameter of own_id, None when it is not set.
    """

    def fill(found: re.Match[str]) -> str:
        name = found.group(1)
        if name in BUILT_INS:
            return values.get(name, found.group(0))
        owned = _PARAM.fullmatch(name)
        if owned and param and owned.group(1) == own_id:
            value = param(owned.group(2))
            if value is not None:
                return value
        return found.group(0)

    return _PLACEHOLDER.sub(fill, text)
