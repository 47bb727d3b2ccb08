"""Chat over a real socket with a running engine and the demo provider (spec ws-protocol 12 to 19, 27 to 39)."""

from asgiref.sync import sync_to_async

from sessions_app.engine.engine import Engine
from sessions_app.models import Entry

from .conftest import World


async def test_a_chat_is_acknowledged_and_answered(world: World, engine: Engine) -> None:
    async with world.tab() as tab:
        sent = tab.chat("sid_a", world.path, "Hello")
        await tab.until(lambda: tab.view("sid_a").answered)
        view = tab.view("sid_a")
        assert tab.acks[sent] == await sync_to_async(lambda: Entry.objects.get(client_msg_id=sent).pk)()
        assert view.text()
        assert not tab.errors
        assert not tab.received("chat:user")  # its own message is not told to the sender


async def test_a_fresh_snapshot_equals_what_a_tab_that_stayed_shows(world: World, engine: Engine) -> None:
    async with world.tab() as tab, world.tab() as late:
        tab.chat("sid_a", world.path, "Please list the files here")
        await tab.until(lambda: tab.view("sid_a").answered)
        late.open("sid_a", world.path)
        await late.until(lambda: late.view("sid_a").loaded)
        assert late.view("sid_a").state() == tab.view("sid_a").state()


async def test_X4_a_tab_that_joins_in_the_middle_and_one_that_was_cut_show_the_same_once(
    world: World, engine: Engine
) -> None:
    async with world.tab() as first, world.tab() as second, world.tab() as cut:
        first.chat("sid_a", world.path, "Tell me a long story and list the files")
        cut.open("sid_a", world.path)
        await first.until(lambda: len(first.view("sid_a").text()) > 10)
        second.open("sid_a", world.path)
        cut.cut()
        await first.until(lambda: first.view("sid_a").answered)
        await second.until(lambda: not second.view("sid_a").running and second.view("sid_a").loaded)
        # The cut tab may still show what it saw before: it is done once it shows what the others show.
        await cut.until(lambda: cut.view("sid_a").state() == first.view("sid_a").state())
        assert cut.connections == 2
        assert second.view("sid_a").state() == first.view("sid_a").state()
