"""The demo agent over a real folder with the real tools: a scripted model, true results."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agents_app import tools
from agents_app.providers.contract import Delta, ModelReply, ModelRequest
from agents_app.providers.demo import DemoProvider, pace_of, pieces
from agents_app.providers.demo_script import next_step
from agents_app.tools.contract import ToolContext
from agents_app.tools.run import run_tool
from halo_site.lib.access_level import Access

from .conftest import assistant, collect, config, user

NAMES = ("file_list", "file_read", "file_write", "grep")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "readings").mkdir()
    (tmp_path / "readings" / "store.py").write_text("# TODO: close the file\nx = 1\n")
    (tmp_path / "README.md").write_text("# Harbour\n\nKeeps tide readings.\n\nMore below.\n")
    (tmp_path / "a|b`.txt").write_text("odd name")
    return tmp_path


async def converse(question: str, folder: Path, names: tuple[str, ...] = NAMES) -> tuple[list[dict[str, Any]], str]:
    """Ask, run the tools it calls for real, until it answers. Returns the tool calls and the answer."""
    messages = [user(question)]
    specs = [tools.TOOLS[name].spec() for name in names]
    called: list[dict[str, Any]] = []
    for _ in range(6):
        request = ModelRequest(
            config=config("demo", "demo://local?pace=0"), system="", messages=messages, tools=specs, session_id="s"
        )
        said = await collect(DemoProvider().stream(request))
        assert said.reply is not None
        if said.reply.stop_reason != "tool_use":
            return called, said.text
        messages.append(assistant(*said.reply.blocks))
        results = []
        for call in said.calls:
            called.append(call)
            ctx = ToolContext(
                workspace=folder, session_id="s", agent_id="a", level=Access.FULL, abort=asyncio.Event()
            )  # fmt: skip
            result = await run_tool(tools.TOOLS[call["name"]], call["input"], ctx)
            results.append(
                {"type": "tool_result", "tool_use_id": call["id"], "content": result.text, "is_error": result.is_error}
            )
        messages.append(user(*results))
    raise AssertionError("the demo never answered")


def names_of(called: list[dict[str, Any]]) -> list[str]:
    return [call["name"] for call in called]


async def test_it_looks_into_the_folder_before_it_answers(folder: Path):
    called, answer = await converse("What is in this folder?", folder)
    assert names_of(called) == ["file_list", "file_read"]
    assert called[1]["input"]["path"] == "README.md"
    assert "**1 folder** and **2 files**" in answer
    assert "| `readings/` | folder |" in answer
    assert "> # Harbour" in answer
    assert "> Keeps tide readings." in answer
    assert "More below" not in answer
    assert "This is the demo agent." in answer


async def test_it_answers_in_the_language_of_the_question(folder: Path):
    called, answer = await converse("这个文件夹里有什么？", folder)
    assert names_of(called) == ["file_list", "file_read"]
    assert "1 个文件夹" in answer
    assert "这是演示智能体" in answer


async def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path):
    called, answer = await converse("What is in this folder?", tmp_path)
    assert names_of(called) == ["file_list"]
    assert "This folder is empty" in answer


async def test_a_folder_without_anything_to_read(tmp_path: Path):
    (tmp_path / "photo.bin").write_bytes(b"\x00")
    called, answer = await converse("What is in this folder?", tmp_path)
    assert names_of(called) == ["file_list"]
    assert "photo.bin" in answer


async def test_it_finds_todo_comments(folder: Path):
    called, answer = await converse("Find TODO comments", folder)
    assert names_of(called) == ["grep"]
    assert "readings/store.py:1:# TODO: close the file" in answer
    (folder / "readings" / "store.py").unlink()
    _, answer = await converse("查找 TODO 注释", folder)
    assert "一个也没有" in answer


async def test_it_writes_a_file_and_overwrites_none(folder: Path):
    called, answer = await converse("Write a small test file", folder)
    assert names_of(called) == ["file_list", "file_write"]
    assert "You asked: Write a small test file" in (folder / "halo-demo.md").read_text()
    assert "`halo-demo.md`" in answer
    (folder / "halo-demo.md").write_text("mine now")
    await converse("写一个小测试文件", folder)
    assert (folder / "halo-demo.md").read_text() == "mine now"
    assert "你的要求：写一个小测试文件" in (folder / "halo-demo-2.md").read_text()


async def test_without_the_right_to_write_it_says_so(folder: Path):
    called, answer = await converse("Create a file", folder, ("file_list", "file_read"))
    assert called == []
    assert "may not write files" in answer


async def test_it_shows_a_real_error(folder: Path):
    called, answer = await converse("Show me an error", folder)
    assert names_of(called) == ["file_read"]
    assert "halo-demo-missing.txt" in answer
    assert "> " in answer
    assert "__TOOL_" not in answer


async def test_it_admits_what_it_cannot_do(folder: Path):
    called, answer = await converse("Why is the sky blue?", folder)
    assert called == []
    assert "I cannot answer that" in answer


async def test_without_tools_it_still_answers(folder: Path):
    for question in ("What is in this folder?", "Find TODO comments", "Show me an error", "write"):
        called, answer = await converse(question, folder, ())
        assert called == []
        assert answer


def test_it_decides_from_the_conversation_alone():
    messages = [user("What is in this folder?")]
    assert next_step(messages, NAMES) == next_step(messages, NAMES)
    later = [*messages, assistant({"type": "text", "text": "..."}), user("What is in this folder?")]
    assert next_step(later, NAMES).calls == next_step(messages, NAMES).calls  # asked again: looks again


def test_a_refused_or_skipped_tool_is_explained():
    call = {"type": "tool_use", "id": "c", "name": "file_list", "input": {"path": "."}}
    for text in ("__TOOL_WARN__\nnot now", "not now"):
        result = {"type": "tool_result", "tool_use_id": "c", "content": text, "is_error": True}
        assert "> not now" in next_step([user("look"), assistant(call), user(result)], NAMES).text


def test_odd_conversations_do_not_break_it():
    assert next_step([], NAMES).text
    assert next_step([{"role": "user", "content": "plain"}, {"role": "assistant", "content": "text"}], NAMES).text


def test_pieces_are_the_text():
    for text in ("", " a  b\n\nc ", "这是一个没有空格的很长很长很长很长很长很长很长很长很长的句子。", "x" * 100):
        assert "".join(pieces(text)) == text
        assert all(len(piece) <= 24 for piece in pieces(text))


@pytest.mark.parametrize(
    ("endpoint", "seconds"),
    [("demo://local", 0.01), ("demo://local?pace=0", 0), ("demo://local?pace=2.5", 0.0025), ("x?pace=-1", 0.01),
     ("x?pace=inf", 0.01), ("x?pace=99999", 1.0)],
)  # fmt: skip
def test_its_pace_is_part_of_the_endpoint(endpoint: str, seconds: float):
    assert pace_of(endpoint) == seconds


async def test_it_streams_and_can_be_stopped():
    request = ModelRequest(config=config("demo", "demo://local?pace=1000"), system="", messages=[user("hi")], tools=())
    seen: list[object] = []

    async def take() -> None:
        async for item in DemoProvider().stream(request):
            seen.append(item)

    task = asyncio.create_task(take())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [], "it waited for its first piece without holding the loop"


async def test_calls_have_ids_of_their_own_and_cost_nothing():
    ids = set()
    for messages in (
        [user("folder")],
        [user("folder?")],
        [user("a"), assistant({"type": "text", "text": "b"}), user("folder")],
    ):
        request = ModelRequest(
            config=config("demo", "demo://local?pace=0"), system="", messages=messages,
            tools=[tools.TOOLS["file_list"].spec()],
        )  # fmt: skip
        async with aclosing(DemoProvider().stream(request)) as stream:
            items = [item async for item in stream]
        assert all(isinstance(item, Delta) for item in items[:-1])
        reply = items[-1]
        assert isinstance(reply, ModelReply)
        assert reply.usage.context_tokens == 0
        ids.add(reply.blocks[-1]["id"])
    assert len(ids) == 3
