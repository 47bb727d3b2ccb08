"""Browser tests drive Debian's Chromium against a real server process; see parts.py."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from .chat_parts import Chat, speaking
from .parts import CHROMIUM, CHROMIUM_ARGS, ROOT, Halo, Models, Person

# Playwright's own loop runs in this thread; Django would take it for ours.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.fspath).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": CHROMIUM_ARGS}


@pytest.fixture(scope="session", autouse=True)
def built_app() -> None:
    if not (ROOT / "static/dist/.vite/manifest.json").exists():
        pytest.fail("The browser app is not built: make dev, or npm run build in static/app")


@pytest.fixture
def halo(tmp_path: Path) -> Iterator[Halo]:
    """A server on an empty home, for one test."""
    server = Halo(tmp_path / "home").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shared_halo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Halo]:
    """A server for the tests of one module that do not change what the others see."""
    server = Halo(tmp_path_factory.mktemp("shared") / "home").start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    server = Models()
    yield server
    server.stop()


Opener = Callable[..., Person]


@pytest.fixture
def person(browser: Browser) -> Iterator[Opener]:
    """`person(halo, width=, height=, locale=, ...)`: a browser of its own at the page of a server."""
    people: list[Person] = []

    def open_browser(halo: Halo, width: int = 1440, height: int = 900, **more: Any) -> Person:
        context = browser.new_context(
            viewport={"width": width, "height": height}, locale=more.pop("locale", "en-US"), **more
        )
        page: Page = context.new_page()
        people.append(Person(page, halo))
        return people[-1]

    yield open_browser
    for one in people:
        one.page.context.close()
    assert [complaint for one in people for complaint in one.complaints] == []


Start = Callable[..., Chat]


@pytest.fixture
def chat(shared_halo: Halo, models: Models, person: Opener, tmp_path: Path) -> Start:
    """`chat(width=, ...)`: a browser at a folder of this test, whose agent speaks as the test plans it."""
    folder = tmp_path / "work"
    folder.mkdir()
    speaking(shared_halo, models)
    return lambda **more: Chat(person(shared_halo, **more), folder)
