"""Change single values in a YAML text and leave everything else as the person wrote it, comments included.

Works on the places that the parser reports. Whatever comes out is read again and compared with what was meant; when
the two differ (exotic layout), the document is written anew and only its comments are lost.
"""

from collections.abc import Sequence
from typing import Any

import yaml

from .yaml_files import YamlError, compose, load_mapping

_STEP = 2


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with the value at `path` set; missing levels are made. Raises YamlError when `text` is not valid."""
    wanted = load_mapping(text)
    _put(wanted, path, _as_read(value))
    return _checked(_set(text, path, value), wanted)


def delete_value(text: str, path: Sequence[str]) -> str:
    """`text` without the key at `path`; the same text when there is none. Levels that became empty go as well."""
    wanted = load_mapping(text)
    if not _drop(wanted, path):
        return text
    return _checked(_delete(text, path), wanted)


def dump(value: Any) -> str:
    """A whole document. Long texts are not folded, keys keep their order."""
    out: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**9)
    return out


def block_of(text: str, key: str) -> str | None:
    """The lines of a top-level key as they stand in the text, comments behind it included; None when there is none."""
    root = compose(text)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    for place, (name, value) in enumerate(root.value):
        if name.value != key:
            continue
        start = text.rfind("\n", 0, name.start_mark.index) + 1
        if place + 1 < len(root.value):
            end = text.rfind("\n", 0, root.value[place + 1][0].start_mark.index) + 1
        else:
            line_end = text.find("\n", _end_of(value))
            end = len(text) if line_end < 0 else line_end + 1
        return _with_end(text[start:end])
    return None


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _as_read(value: Any) -> Any:
    """The value as `load` gives it back: every scalar as text."""
    if isinstance(value, dict):
        return {str(key): _as_read(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_read(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict | list | tuple):
        plain = list(value) if isinstance(value, tuple) else value
        out: str = yaml.dump(
            plain, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=10**9, default_flow_style=True
        )
        return out.strip()
    if isinstance(value, str) and ("\n" in value or not value.isprintable()):
        out = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=10**9, default_style='"')
        return out.strip()
    out = yaml.dump([value], Dumper=_Dumper, allow_unicode=True, width=10**9, default_flow_style=True)
    return out.strip()[1:-1]


def _checked(text: str | None, wanted: dict[str, Any]) -> str:
    if text is not None:
        try:
            if load_mapping(text) == wanted:
                return text
        except YamlError:
            pass  # the edit did not fit this layout
    return dump(wanted) if wanted else ""


def _put(document: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        inner = document.get(name)
        if not isinstance(inner, dict):
            inner = document[name] = {}
        document = inner
    document[path[-1]] = value


def _drop(document: dict[str, Any], path: Sequence[str]) -> bool:
    if not isinstance(document, dict) or path[0] not in document:
        return False
    if len(path) == 1:
        del document[path[0]]
        return True
    dropped = _drop(document[path[0]], path[1:])
    if dropped and not document[path[0]]:
        del document[path[0]]
    return dropped


def _find(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == name:
                return key, value
    return None


def _set(text: str, path: Sequence[str], value: Any) -> str | None:
    node = compose(text)
    if node is None or not isinstance(node, yaml.MappingNode) or not node.value:
        return _with_end(text) + _nested(path, value, 0) if node is None else None
    found: tuple[yaml.Node, yaml.Node] = (node, node)
    for depth, name in enumerate(path):
        last = _find(node, name)
        if last is None:
            return _insert(text, node, path[depth:], value)
        found = last
        node = found[1]
        if depth < len(path) - 1 and not (isinstance(node, yaml.MappingNode) and node.value):
            return _replace(text, found, {path[-1]: value} if depth == len(path) - 2 else None)
    return _replace(text, found, value)


def _replace(text: str, pair: tuple[yaml.Node, yaml.Node], value: Any) -> str | None:
    old = pair[1]
    if value is None and not isinstance(old, yaml.ScalarNode):
        return None
    start, end = old.start_mark.index, old.end_mark.index
    block = isinstance(old, yaml.CollectionNode) and not old.flow_style
    if block or (isinstance(old, yaml.ScalarNode) and old.style in ("|", ">")):
        return None
    gap = " " if text[start - 1 : start] == ":" else ""
    return text[:start] + gap + _inline(value) + text[end:]


def _insert(text: str, node: yaml.Node, path: Sequence[str], value: Any) -> str | None:
    """A new key at the end of an existing mapping."""
    assert isinstance(node, yaml.MappingNode)
    if node.flow_style:
        close = node.end_mark.index - 1
        inner: Any = value
        for name in reversed(path[1:]):
            inner = {name: inner}
        head = text[:close].rstrip()
        comma = "" if head.endswith(("{", ",")) else ", "
        return f"{head}{comma}{_inline({path[0]: inner})[1:-1]}{text[close:]}"
    first_key, _ = node.value[0]
    last_value = node.value[-1][1]
    end = _end_of(last_value)
    line_end = text.find("\n", end)
    at = len(text) if line_end < 0 else line_end + 1
    return _with_end(text[:at]) + _nested(path, value, first_key.start_mark.column) + text[at:]


def _end_of(node: yaml.Node) -> int:
    """Where a value really ends; the end mark of a block collection is already at the next token."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return max(node.start_mark.index, end - 1)
    return int(end)


def _nested(path: Sequence[str], value: Any, column: int) -> str:
    lines = [f"{' ' * (column + i * _STEP)}{_inline(name)}:\n" for i, name in enumerate(path[:-1])]
    last = column + (len(path) - 1) * _STEP
    return "".join(lines) + f"{' ' * last}{_inline(path[-1])}: {_inline(value)}\n"


def _with_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _delete(text: str, path: Sequence[str]) -> str | None:
    """Cuts whole lines of a block mapping; anything in a flow mapping is left to the rewrite."""
    node = compose(text)
    chain: list[tuple[yaml.Node, yaml.Node, yaml.Node]] = []
    for name in path:
        found = _find(node, name)
        if found is None or node is None:
            return None
        chain.append((node, *found))
        node = found[1]
    # An entry whose mapping holds nothing else takes that mapping with it.
    while len(chain) > 1 and len(chain[-1][0].value) == 1:
        chain.pop()
    parent, key, value = chain[-1]
    if getattr(parent, "flow_style", False):
        return None
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if text[start : key.start_mark.index].strip():
        return None
    line_end = text.find("\n", _end_of(value))
    return text[:start] + (text[line_end + 1 :] if line_end >= 0 else "")
