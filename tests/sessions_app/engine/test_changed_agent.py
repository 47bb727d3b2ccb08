"""A conversation whose agent was changed says so (spec agents-and-prompts 7), and keeps its time while it was not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents_app.agents import read_agent
from sessions_app.engine.engine import Engine
from sessions_app.models import Entry, Session

from ..conftest import Say
from .conftest import Viewer

InDb = Callable[..., Any]
TEXT = (
    "name: Ada\ndescription: first\nmodel: {provider: demo, id: demo, endpoint: 'demo://local?pace=0'}\ntools: [grep]\n"
)


@pytest.fixture
def ada(agent_folder: Path, engine: Engine) -> Path:
    (agent_folder / "agent.yaml").write_text(TEXT)
    (agent_folder / "AGENT.md").write_text("You are Ada. It is {{now}}.")
    return agent_folder


async def notices(in_db: InDb) -> list[str]:
    return await in_db(lambda: list(Entry.objects.filter(kind="notice").order_by("id").values_list("text", flat=True)))


async def test_a_turn_after_a_change_names_what_was_changed_once(ada: Path, viewer: Viewer, say: Say, in_db: InDb):
    await in_db(say, "one")
    await viewer.completes()
    (ada / "agent.yaml").write_text(
        TEXT.replace("[grep]", "[grep, glob]").replace("model: {", "model: {maxTokens: 99, ")
    )
    (ada / "AGENT.md").write_text("You are Ada, and careful.")
    await in_db(say, "two")
    await viewer.completes(2)
    await in_db(say, "three")
    await viewer.completes(3)
    told = "Ada was changed since the last turn (model, tools, AGENT.md). This turn works with the new version."
    assert await notices(in_db) == [told]
    assert [frame["text"] for frame in viewer.of("chat:system") if frame.get("code") == "config"] == [told]


async def test_another_name_or_description_is_no_news(ada: Path, viewer: Viewer, say: Say, in_db: InDb):
    await in_db(say, "one")
    await viewer.completes()
    (ada / "agent.yaml").write_text(TEXT.replace("first", "second").replace("Ada", "Eva"))
    await in_db(say, "two")
    await viewer.completes(2)
    assert await notices(in_db) == []


async def test_without_a_change_the_prompt_keeps_its_time(ada: Path, viewer: Viewer, say: Say, in_db: InDb):
    await in_db(say, "one")
    await viewer.completes()
    before = await in_db(lambda: Session.objects.get().prompt)
    await in_db(lambda: Session.objects.update(prompt=before | {"at": "2026-01-01T00:00:00Z"}))
    await in_db(say, "two")
    await viewer.completes(2)
    assert (await in_db(lambda: Session.objects.get().prompt))["at"] == "2026-01-01T00:00:00Z"


def test_marks_name_parts_and_hold_nothing_of_them(ada: Path):
    marks = read_agent(None, "default", "global", ada).marks
    assert set(marks) == {"model", "system_prompt", "context", "tools", "skills", "team", "mcp", "AGENT.md"}
    assert all(len(mark) == 8 for mark in marks.values())
