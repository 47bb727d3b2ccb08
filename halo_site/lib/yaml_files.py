"""YAML that people and agents write, read without surprises (CASES C67, SECURITY-BAR L6).

Every plain or quoted scalar stays the text that stands in the file (`no`, `1.10`, `0777` too); only null is None. The
schema of whoever reads it decides what is a number or a yes. Refused with a line number: a key that is there twice,
tabs as indent, tags, complex keys, more than 256 KiB, more than 50 levels, and anchors that unfold to too much.
"""

from typing import Any

import yaml

from .errors import BadRequest

MAX_BYTES = 256 * 1024
MAX_DEPTH = 50
MAX_NODES = 20_000

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class YamlError(BadRequest):
    """The text is not acceptable YAML. `line` counts from 1; 0 = it concerns the whole file."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem, **({"line": line} if line else {}))
        self.problem = problem
        self.line = line


class Lines(dict[tuple[str, ...], int]):
    """Where each value stands: path of keys and list positions -> line, from 1."""

    def near(self, path: tuple[str, ...]) -> int:
        """The line of `path`, or of the nearest thing around it."""
        while path and path not in self:
            path = path[:-1]
        return self.get(path, 0)


def load(text: str) -> Any:
    """The document as dicts, lists, strings and None; None when empty. Raises YamlError."""
    return load_with_lines(text)[0]


def load_with_lines(text: str) -> tuple[Any, Lines]:
    """Like `load`, with the line of every value, for messages about a value."""
    root = compose(text)
    lines = Lines()
    return (None if root is None else _build(root, (), lines, [0])), lines


def load_mapping(text: str) -> dict[str, Any]:
    """A document that must be a mapping (or empty). Raises YamlError."""
    value = load(text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise YamlError("a mapping (`key: value` lines) is needed at the top", 1)
    return value


def compose(text: str) -> yaml.Node | None:
    """The checked node tree; nodes carry their place in `text`. Raises YamlError."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise YamlError(f"the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        _check_events(text)
        node: yaml.Node | None = yaml.compose(text, Loader=Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(_said(text, error, mark), mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f"not valid text for YAML: {str(error).splitlines()[0]}") from error
    return node


def _said(text: str, error: yaml.MarkedYAMLError, mark: Any) -> str:
    if mark:
        lines = text.splitlines()
        for number in (mark.line, mark.line - 1):
            if 0 <= number < len(lines) and "\t" in lines[number][: len(lines[number]) - len(lines[number].lstrip())]:
                return "a tab is used as indent; use spaces"
    return str(error.problem or error.context or "not valid YAML")


def _check_events(text: str) -> None:
    """Depth, tags and the number of documents, before anything recursive runs."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise YamlError("only one document is allowed (a second `---`)", line)
        elif isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent):
            if event.tag and event.tag != "!":
                raise YamlError(f"tags such as {event.tag.replace('tag:yaml.org,2002:', '!!')} are not allowed", line)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise YamlError(f"more than {MAX_DEPTH} levels deep", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _build(node: yaml.Node, path: tuple[str, ...], lines: Lines, count: list[int]) -> Any:
    count[0] += 1
    line = node.start_mark.line + 1
    if count[0] > MAX_NODES or len(path) > MAX_DEPTH:
        raise YamlError("anchors unfold to too much", line)
    lines[path] = line
    if isinstance(node, yaml.ScalarNode):
        value: str = node.value
        quoted = node.style in ("'", '"', "|", ">")
        return None if not quoted and value in _NULLS else value
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, str(i)), lines, count) for i, item in enumerate(node.value)]
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        at = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise YamlError("a key must be plain text", at)
        key: str = key_node.value
        if key in found:
            raise YamlError(f"the key `{key}` is there twice", at)
        found[key] = _build(value_node, (*path, key), lines, count)
        lines[(*path, key)] = at
    return found
