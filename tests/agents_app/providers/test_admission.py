"""How many calls run at once, and the rest a busy vendor asked for."""

import asyncio
import time

import pytest

from agents_app.providers import admission
from agents_app.providers.contract import ErrorKind
from agents_app.providers.wire import Wire
from halo_site.lib.publish import deliver_signal, on_signal

from .conftest import Vendor, user

OTHERS = 5


async def others_are_answered(chat: Vendor) -> None:
    """Calls of another account, one after the other: time enough for a call that does not have to wait."""
    for _ in range(OTHERS):
        assert (await chat.ask(secrets={"api_key": "another-key-0123"})).error is None


async def test_no_more_calls_at_once_than_the_file_says(chat: Vendor):
    chat.wire = Wire(concurrency=2)
    held = user("go [[fake tokens=2 hang=stream after=1]]")
    tasks = [asyncio.create_task(chat.ask(held)) for _ in range(5)]
    await chat.server.wait_for(2)
    await others_are_answered(chat)
    assert len(chat.server.requests) == 2 + OTHERS
    tasks[0].cancel()
    await chat.server.wait_for(4)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_rest_that_one_session_was_told_of_holds_for_all(chat: Vendor):
    chat.server.will(status=429, retry_after="600")
    assert (await chat.ask()).error.kind is ErrorKind.THROTTLE
    waiting = asyncio.create_task(chat.ask())
    await others_are_answered(chat)
    assert not waiting.done()
    assert len(chat.server.requests) == 1 + OTHERS
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_busy_vendor_that_names_no_wait_gets_a_rest_from_all_too(chat: Vendor, monkeypatch: pytest.MonkeyPatch):
    assert admission._USUAL_REST > 0
    monkeypatch.setattr(admission, "_USUAL_REST", 50.0)  # so that a slow machine does not see its end
    chat.server.will(status=429)
    assert (await chat.ask()).error.retry_after is None
    waiting = asyncio.create_task(chat.ask())
    await others_are_answered(chat)
    assert not waiting.done()
    assert len(chat.server.requests) == 1 + OTHERS
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_another_failure_makes_nobody_wait(chat: Vendor):
    before = dict(admission._quiet_until)
    chat.server.will(status=500)
    assert (await chat.ask()).error.kind is ErrorKind.SERVER
    assert admission._quiet_until == before
    assert (await chat.ask()).error is None


async def test_a_rest_that_another_process_was_told_of_holds_here_too(chat: Vendor):
    told: list[dict[str, object]] = []
    forget = on_signal("model.rest", told.append)
    try:
        chat.server.will(status=429, retry_after="600")
        await chat.ask()
    finally:
        forget()
    assert "0123456789" not in str(told), "no key travels"
    admission._quiet_until.clear()  # what another process knows
    assert (await chat.ask()).error is None
    deliver_signal("model.rest", told[0])
    waiting = asyncio.create_task(chat.ask())
    await others_are_answered(chat)
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("data", [{}, {"account": 1, "seconds": 5}, {"account": "a", "seconds": "x"}])
def test_news_of_a_rest_that_make_no_sense_are_passed_over(data: dict[str, object]):
    deliver_signal("model.rest", data)
    assert "a" not in admission._quiet_until


async def test_a_call_is_made_when_the_rest_is_over(chat: Vendor):
    chat.server.will(status=429, retry_after="0.4")
    began = time.monotonic()
    assert (await chat.ask()).error.kind is ErrorKind.THROTTLE
    assert (await chat.ask()).error is None
    assert time.monotonic() - began >= 0.4


async def test_stop_works_while_a_call_waits_for_its_turn(chat: Vendor):
    chat.server.will(status=429, retry_after="50")
    await chat.ask()
    waiting = asyncio.create_task(chat.ask())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    assert len(chat.server.requests) == 1
