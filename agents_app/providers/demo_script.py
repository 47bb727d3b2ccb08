"""What the demo agent says and does next. Pure: it decides from the conversation alone, so every step can be tested.

It calls real tools through normal tool_use blocks, and its answers are made of their real results.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .contract import Message
from .demo_texts import EN, ZH, Words

_HAN = re.compile(r"[\u4e00-\u9fff]")
_LINE_NUMBER = re.compile(r"^ *\d+\t")
_INTENTS = (  # the first that matches decides
    ("error", re.compile(r"\berrors?\b|错误|报错|出错|失败", re.I)),
    ("todo", re.compile(r"\b(todos?|fixmes?)\b|待办", re.I)),
    ("write", re.compile(r"\b(write|create|tests?|add|make|save)\b|写|创建|新建|测试|添加|保存", re.I)),
    ("folder", re.compile(r"\b(folder|director(y|ies)|files?|project|repo(sitory)?|what is (in )?(here|this)|look)\b"
                          r"|文件|目录|项目|这里|有什么|看看", re.I)),
)  # fmt: skip
_READABLE = (".md", ".txt", ".rst", ".toml", ".py", ".json", ".yaml", ".yml", ".js", ".ts", ".go", ".rs", ".html")
MISSING_FILE = "halo-demo-missing.txt"
PATTERN = r"\b(TODO|FIXME)\b"


@dataclass(frozen=True, slots=True)
class Step:
    """One model call of the demo. `calls`: (tool name, arguments); none = the turn ends with `text`."""

    thinking: str = ""
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Done:
    """A tool call since the question, with its result."""

    name: str
    args: dict[str, Any]
    result: str
    failed: bool


def next_step(messages: Sequence[Message], tools: Collection[str]) -> Step:
    """The next model call for this conversation. `tools`: names the session may call."""
    question, done = _since_question(messages)
    words = ZH if _HAN.search(question) else EN
    intent = next((name for name, pattern in _INTENTS if pattern.search(question)), "other")
    match intent:
        case "error":
            step = _error(done, tools, words)
        case "todo":
            step = _todo(done, tools, words)
        case "write":
            step = _write(question, done, tools, words)
        case "folder":
            step = _folder(done, tools, words)
        case _:
            step = Step(words.other_thought, words.other)
    return step if step.calls else Step(step.thinking, f"{step.text}\n\n{words.footer}")


def _since_question(messages: Sequence[Message]) -> tuple[str, list[_Done]]:
    """The last thing a person (or agent) wrote, and the tool calls answered since."""
    question, start = "", 0
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "user" and (text := _text(messages[at]["content"])):
            question, start = text, at
            break
    results: dict[str, tuple[str, bool]] = {}
    calls: list[dict[str, Any]] = []
    for message in messages[start + 1 :]:
        for block in message["content"] if not isinstance(message["content"], str) else ():
            if block["type"] == "tool_use":
                calls.append(block)
            elif block["type"] == "tool_result":
                text = _text(block.get("content"))
                failed = bool(block.get("is_error")) or text.startswith(("__TOOL_ERROR__", "__TOOL_WARN__"))
                results[block["tool_use_id"]] = (_without_marker(text), failed)
    done = [_Done(call["name"], call["input"], *results[call["id"]]) for call in calls if call["id"] in results]
    return question, done


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n".join(str(part.get("text", "")) for part in content or () if part.get("type") == "text").strip()


def _without_marker(text: str) -> str:
    return text.partition("\n")[2] if text.startswith("__TOOL_") else text


def _of(done: Sequence[_Done], name: str) -> _Done | None:
    return next((item for item in done if item.name == name), None)


def _folder(done: Sequence[_Done], tools: Collection[str], words: Words) -> Step:
    if "file_list" not in tools:
        return Step("", words.no_tools)
    listed = _of(done, "file_list")
    if listed is None:
        return Step(words.look_first, "", (("file_list", {"path": "."}),))
    if listed.failed:
        return Step("", words.failed.format(error=_quoted(listed.result)))
    folders, files = _entries(listed.result)
    read = _of(done, "file_read")
    chosen = _read_me(files)
    if read is None and chosen and "file_read" in tools:
        return Step(words.then_read.format(file=chosen), "", (("file_read", {"path": chosen, "limit": 40}),))
    return Step("", _about(folders, files, read, words))


def _entries(listing: str) -> tuple[list[str], list[str]]:
    """Folders and files of a file_list result."""
    lines = listing.splitlines()
    folders = [line[2:].strip().rstrip("/") for line in lines if line.startswith("📁 ")]
    files = [line[2:].strip() for line in lines if line.startswith("📄 ")]
    return sorted(folders, key=_is_hidden), sorted(files, key=_is_hidden)  # what begins with a dot comes last


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _counts(folders: Sequence[str], files: Sequence[str], words: Words) -> dict[str, str]:
    """`1 folder`, `2 files`; Chinese has one form only."""

    def counted(number: int, one: str, many: str) -> str:
        return f"{number} {one if number == 1 and words is EN else many}"

    return {
        "folders": counted(len(folders), words.folder, words.folders),
        "files": counted(len(files), words.file, words.files),
    }


def _read_me(files: Sequence[str]) -> str | None:
    """The file most likely to say what this is."""
    by_rank = sorted(
        (0 if name.lower().startswith("readme") else 1 if name.lower().endswith(".md") else 2, at, name)
        for at, name in enumerate(files)
        if name.lower().startswith("readme") or name.lower().endswith(_READABLE)
    )
    return by_rank[0][2] if by_rank else None


def _about(folders: Sequence[str], files: Sequence[str], read: _Done | None, words: Words) -> str:
    if not folders and not files:
        return words.empty
    parts = [words.counted.format(**_counts(folders, files, words))]
    rows = [f"| `{name}/` | {words.folder} |" for name in folders[:8]]
    rows += [f"| `{name}` | {words.file} |" for name in files[: 12 - len(rows)]]
    rows = [row.replace("`|", "`\\|") for row in rows]
    parts.append("\n".join([f"| {words.name} | {words.kind} |", "|---|---|", *rows]))
    rest = len(folders) + len(files) - len(rows)
    if rest > 0:
        parts.append(words.more.format(count=rest))
    if read is not None and not read.failed:
        said = _first_words(read.result)
        path = read.args.get("path", "")
        parts.append(
            words.says.format(file=path, quote=_quoted(said)) if said else words.says_nothing.format(file=path)
        )
    return "\n\n".join(parts)


def _first_words(numbered: str) -> str:
    """The first heading and paragraph of a file_read result, without line numbers."""
    lines = [_LINE_NUMBER.sub("", line).rstrip() for line in numbered.splitlines() if _LINE_NUMBER.match(line)]
    taken: list[str] = []
    paragraph = False
    for line in lines:
        if not line.strip():
            if paragraph:
                break
            continue
        paragraph = paragraph or not line.startswith("#")
        taken.append(line)
        if len(taken) == 6:
            break
    return "\n".join(taken)[:600]


def _todo(done: Sequence[_Done], tools: Collection[str], words: Words) -> Step:
    if "grep" not in tools:
        return Step("", words.no_tools)
    found = _of(done, "grep")
    if found is None:
        return Step(words.search_first, "", (("grep", {"pattern": PATTERN}),))
    if found.failed:
        return Step("", words.failed.format(error=_quoted(found.result)))
    lines = [line for line in found.result.splitlines() if re.match(r".+?:\d+:", line)]
    if not lines:
        return Step("", words.no_todo)
    shown = "\n".join(line[:200] for line in lines[:10])
    return Step("", words.todos.format(count=len(lines), lines=_fenced(shown)))


def _write(question: str, done: Sequence[_Done], tools: Collection[str], words: Words) -> Step:
    if "file_write" not in tools or "file_list" not in tools:
        return Step("", words.may_not_write)
    listed, written = _of(done, "file_list"), _of(done, "file_write")
    if listed is None:
        return Step(words.look_before_write, "", (("file_list", {"path": "."}),))
    if listed.failed:
        return Step("", words.failed.format(error=_quoted(listed.result)))
    folders, files = _entries(listed.result)
    if written is None:
        name = _free_name(files)
        asked = " ".join(question.split())[:200]
        content = words.note.format(question=asked, name=name, **_counts(folders, files, words))
        return Step(words.now_write.format(file=name), "", (("file_write", {"path": name, "content": content}),))
    if written.failed:
        return Step("", words.failed.format(error=_quoted(written.result)))
    return Step("", words.written.format(file=written.args.get("path", "")))


def _free_name(files: Sequence[str]) -> str:
    """A name that is not taken: the demo never overwrites what is there."""
    taken = {name.lower() for name in files}
    number = 1
    while (name := "halo-demo.md" if number == 1 else f"halo-demo-{number}.md") in taken:
        number += 1
    return name


def _error(done: Sequence[_Done], tools: Collection[str], words: Words) -> Step:
    if "file_read" not in tools:
        return Step("", words.no_tools)
    read = _of(done, "file_read")
    if read is None:
        return Step(words.provoke, "", (("file_read", {"path": MISSING_FILE}),))
    return Step("", words.explained.format(file=MISSING_FILE, error=_quoted(read.result)))


def _quoted(text: str) -> str:
    """As a markdown quotation, so that what a file says is not taken for our words."""
    return "\n".join(f"> {line}" if line.strip() else ">" for line in text.strip()[:600].splitlines()) or ">"


def _fenced(text: str) -> str:
    """As a code block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
