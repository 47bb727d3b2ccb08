"""`manage.py probe_model`: what a model can do, compared with what its entry says."""

import asyncio
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from agents_app.providers.registry import models_dir
from tests.fakes.model_server import FakeModelServer

FILE = """
id: probed
family: {family}
displayName: Probed
defaultEndpoint: {endpoint}
models: [{{id: m-1, capabilities: {{image: {image}, promptCaching: {{default: 5m}}}}}}]
"""


@pytest.fixture
def vendor() -> Iterator[FakeModelServer]:
    """The command has an event loop of its own, so the vendor lives in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = FakeModelServer()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    yield server
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def probed(vendor: FakeModelServer, family: str, image: bool) -> str:
    path: Path = models_dir() / "probed.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    endpoint = getattr(vendor, family)
    path.write_text(FILE.format(family=family, endpoint=endpoint, image=str(image).lower()))
    out = StringIO()
    try:
        call_command("probe_model", "probed", stdout=out)
    except CommandError as error:
        out.write(str(error))
    finally:
        path.unlink()
    return out.getvalue()


@pytest.mark.parametrize("family", ["chat", "messages", "responses"])
def test_a_model_that_can_all_it_says(vendor: FakeModelServer, family: str):
    vendor.will(text="ready")
    vendor.will(tool_calls=[{"name": "report_colour", "arguments": {"colour": "blue"}}])
    vendor.will(text="Red.")
    vendor.will(text="ready")
    vendor.will(text="ready", usage={"input": 10, "cache_read": 8000})
    said = probed(vendor, family, image=True)
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["text", "yes"], ["tools", "yes"], ["images", "yes"], ["caching", "yes"]
    ]  # fmt: skip
    assert vendor.requests[3]["body"] == vendor.requests[4]["body"]


def test_a_model_that_cannot_see_although_its_entry_says_so(vendor: FakeModelServer):
    vendor.will(text="ready")
    vendor.will(text="Blue it is.")
    vendor.will(status=400, error={"error": {"message": "image input is not supported"}})
    said = probed(vendor, "chat", image=True)
    assert "tools    no  answered in words" in said
    assert "(the entry says yes)" in said
    assert said.endswith("does not tell the truth")


def test_a_model_that_cannot_be_asked_is_told_with_the_vendors_words(vendor: FakeModelServer):
    vendor.will(status=401)
    said = probed(vendor, "chat", image=False)
    assert "text     no  [probed] API error 401" in said
    assert said.endswith("could not be asked")
    assert len(vendor.requests) == 1
