"""How many calls run at once, and the rest a busy vendor asked for."""

import asyncio
import time

from agents_app.providers.contract import ErrorKind
from agents_app.providers.wire import Wire

from .conftest import Vendor, user


async def test_no_more_calls_at_once_than_the_file_says(chat: Vendor):
    chat.wire = Wire(concurrency=2)
    held = user("go [[fake tokens=2 hang=stream after=1]]")
    tasks = [asyncio.create_task(chat.ask(held)) for _ in range(5)]
    await chat.server.wait_for(2)
    assert (await chat.ask(secrets={"api_key": "another-key-0123"})).error is None  # time enough for the others
    assert len(chat.server.requests) == 3
    tasks[0].cancel()
    await chat.server.wait_for(4)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_rest_that_one_session_was_told_of_holds_for_all(chat: Vendor):
    chat.server.will(status=429, retry_after="600")
    assert (await chat.ask()).error.kind is ErrorKind.THROTTLE
    waiting = asyncio.create_task(chat.ask())
    assert (await chat.ask(secrets={"api_key": "another-key-0123"})).error is None  # another account
    assert not waiting.done()
    assert len(chat.server.requests) == 2
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


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
