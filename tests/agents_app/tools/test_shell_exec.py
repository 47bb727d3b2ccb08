"""shell_exec: groups, limits, and an end that always comes (spec tools 3.9, 6; SECURITY-BAR S8)."""

import asyncio
import base64
import os
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given
from hypothesis import strategies as st

from agents_app.disabled import set_disabled
from agents_app.tools import TOOLS
from agents_app.tools.contract import ERROR, WARN
from agents_app.tools.run import run_tool
from agents_app.tools.shell_exec import _filled
from agents_app.tools.shell_params import Masker
from halo_site.lib.access_level import Access
from tests.agents_app.test_skills import skill
from workspaces_app.models import Workspace
from workspaces_app.sandbox import Status, probe


def alive(marker: str) -> bool:
    """Is there a process (not a zombie) with this in its command line?"""
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and marker.encode() in (place / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


def long_time() -> str:
    """Seconds for `sleep`: beyond every wait below, and a number that no other test or suite beside this one uses."""
    return f"600.{uuid.uuid4().int % 10**12:012}"


async def until(fact: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not fact():
            await asyncio.sleep(0.01)


async def gone(marker: str) -> None:
    await until(lambda: not alive(marker))


async def test_output_status_and_errors_are_told(call, workspace):
    assert (await call("shell_exec", command="echo hi; pwd")).text == f"hi\n{workspace}"
    assert (await call("shell_exec", command="echo a; echo b >&2")).text == "a\nSTDERR: b"
    assert (await call("shell_exec", command="true")).text == "(no output)"
    failed = await call("shell_exec", command="echo so far; exit 3")
    assert failed.text == f"{ERROR}Command failed: exit code 3\nso far"
    assert "ended by signal 9" in (await call("shell_exec", command="kill -9 $$")).text


@pytest.mark.parametrize("command", ["-x", "--help", "-c 'echo hi'"])
async def test_S5_a_command_that_starts_with_a_dash_is_a_command(call, command):
    assert "Command failed" in (await call("shell_exec", command=command)).text


async def test_the_servers_secrets_are_not_in_the_environment(call, monkeypatch):
    for name in ("HALO_PASSWORD", "HALO_JWT_SECRET", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("SOMETHING_ELSE", "fine")
    text = (await call("shell_exec", command="env")).text
    assert "canary" not in text
    assert "SOMETHING_ELSE=fine" in text


async def test_an_aborted_command_dies_with_its_children(context, workspace):
    seen: list[str] = []
    ctx, long = context(output=seen.append), long_time()
    command = f"echo started; sleep {long} && touch sentinel"
    run = asyncio.create_task(run_tool(TOOLS["shell_exec"], {"command": command}, ctx))
    await until(lambda: "started\n" in seen and alive(long))
    ctx.abort.set()
    async with asyncio.timeout(60):
        result = await run
    assert "stopped" in result.text
    assert "started" in result.text
    await gone(long)
    assert not (workspace / "sentinel").exists()


async def test_S8_a_command_that_ignores_TERM_is_killed_after_two_seconds(context, call):
    long, begun = long_time(), time.monotonic()
    command = f"trap '' TERM; echo here; sleep {long}; sleep {long}; echo no"
    async with asyncio.timeout(60):
        result = await call("shell_exec", ctx=context(shell_timeout=1.0), command=command)
    assert time.monotonic() - begun > 1.0 + 2, "it had its time to end by itself"
    assert result.text == f"{ERROR}Command timed out after 1000ms\nhere"
    await gone(long)


async def test_S8_endless_output_is_cut_and_the_command_ended(context, call):
    async with asyncio.timeout(60):
        result = await call("shell_exec", ctx=context(limits={"shell_output_bytes": 100_000}), command="yes")
    assert result.text.count("y") >= 40_000
    assert "[truncated]" in result.text


async def test_S8_a_grandchild_that_keeps_the_pipes_does_not_keep_the_call(call):
    async with asyncio.timeout(60):
        result = await call("shell_exec", command=f"setsid sleep {long_time()} & echo $!")
    os.kill(int(result.text), signal.SIGKILL)


async def test_a_background_command_goes_on_after_the_call(call, workspace):
    await call("shell_exec", command="nohup sh -c 'echo later > late.txt' > log 2>&1 &")
    await until((workspace / "late.txt").exists)


async def test_output_is_passed_on_while_it_comes_without_cutting_characters(context, call, workspace):
    seen: list[str] = []

    def output(text: str) -> None:
        seen.append(text)
        (workspace / "heard").touch()

    wait = "until test -e heard; do sleep 0.01; done"
    command = f"printf 'a\\303'; {wait}; printf '\\274b'; printf 'err' >&2"
    assert (await call("shell_exec", ctx=context(output=output), command=command)).text == "aüb\nSTDERR: err"
    assert seen[0] == "a"
    assert "".join(seen).replace("err", "") == "aüb"


async def test_L5_bytes_that_are_no_text_do_not_break_anything(call):
    text = (await call("shell_exec", command="printf '\\0\\377\\355\\240\\200 ok'")).text
    text.encode()
    assert "\0" not in text
    assert text.endswith(" ok")


async def test_a_cancelled_call_leaves_no_process(context):
    long = long_time()
    run = asyncio.create_task(run_tool(TOOLS["shell_exec"], {"command": f"sleep {long}"}, context()))
    await until(lambda: alive(long))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await gone(long)


@pytest.mark.parametrize("level", [Access.WORKSPACE, Access.READONLY])
async def test_S7_without_a_sandbox_lower_levels_get_no_shell(monkeypatch, call, workspace, level):
    monkeypatch.setattr("workspaces_app.sandbox.probe._status", Status(reason="bwrap is missing"))
    result = await call("shell_exec", level=level, command="touch x")
    assert result.text.startswith(f"{WARN}Access denied: shell_exec requires bubblewrap (bwrap) for non-full access")
    assert "bwrap is missing" in result.text
    assert "--" not in result.text
    assert not (workspace / "x").exists()


async def test_a_vanished_workspace_is_told(call, workspace):
    workspace.rmdir()
    assert "is gone" in (await call("shell_exec", command="true")).text


# ---- in the sandbox


@pytest.fixture
def bubblewrap() -> None:
    if not probe.candidates():
        pytest.skip(probe.MISSING)


@pytest.mark.usefixtures("bubblewrap")
async def test_below_full_a_command_runs_in_the_sandbox(call, workspace):
    result = await call(
        "shell_exec", level=Access.WORKSPACE, command="echo hi > a; cat a; pwd; ls /proc | grep -c ^[0-9]"
    )
    assert result.text.startswith(f"hi\n{workspace}\n")
    assert (workspace / "a").read_text() == "hi\n"
    result = await call("shell_exec", level=Access.READONLY, command="cat a; touch b")
    assert result.text.startswith(f"{ERROR}Command failed: exit code 1\nhi")
    assert "Read-only file system" in result.text


@pytest.mark.usefixtures("bubblewrap")
async def test_S3_the_model_is_told_what_was_set_aside(call, workspace):
    result = await call("shell_exec", level=Access.WORKSPACE, command="echo evil > AGENTS.md; echo done")
    assert result.text.startswith("done\n[set aside, because it steers agents or git")
    assert not (workspace / "AGENTS.md").exists()


@pytest.mark.usefixtures("bubblewrap")
async def test_a_sandboxed_command_streams_and_is_stopped(context, workspace):
    seen: list[str] = []
    ctx, long = context(Access.WORKSPACE, output=seen.append), long_time()
    command = f"echo started; sleep {long} && touch sentinel"
    run = asyncio.create_task(run_tool(TOOLS["shell_exec"], {"command": command}, ctx))
    await until(lambda: "started\n" in seen)
    ctx.abort.set()
    async with asyncio.timeout(60):
        assert "started" in (await run).text
    await gone(long)
    assert not (workspace / "sentinel").exists()


@pytest.mark.usefixtures("bubblewrap")
async def test_S8_nothing_of_a_sandboxed_command_is_left(call):
    long = long_time()
    assert (await call("shell_exec", level=Access.WORKSPACE, command=f"setsid -f sleep {long}; echo ok")).text == "ok"
    await gone(long)


# ---- parameters (spec tools 6.17, 6.18)


@pytest.fixture
def stored(home, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "t0k/en +%ü")
    folder = home / "global" / "agents" / "default"
    folder.mkdir(parents=True)
    (folder / "agent-config.yaml").write_text(
        "params:\n  - {key: region, default: eu}\n  - {key: pin, secret: true}\n  - {key: size, type: int}\n"
        "  - {key: home, default: <<HOME>>}\n"
    )
    (home / "secrets" / "settings.yaml").write_text(
        "default:\n  params: {token: <<SHOP_TOKEN>>, pin: '998877', size: 5, on: true, short: <<SHORT>>}\n"
        "  secrets: {k: s3}\n"
        "other: {params: {k: theirs}}\n"
    )
    monkeypatch.setenv("SHORT", "abc")


@pytest.mark.usefixtures("stored")
async def test_own_parameters_are_filled_in_and_others_stay(call):
    command = "echo '{{default.params.size}} {{ default.params.region }} {{default.params.on}}'"
    assert (await call("shell_exec", command=command)).text == "5 eu true"
    for text in (
        "{{other.params.k}}",
        "{{default.secrets.k}}",
        "{{default.params.none}}",
        "<<HOME>>",
        "{{params.size}}",
    ):
        assert (await call("shell_exec", command=f"echo '{text}'")).text == text


@pytest.mark.django_db(transaction=True)
async def test_17_parameters_of_a_skill_are_filled_in_for_agents_that_may_use_it(call, context, home, workspace):
    skill(home / "global", "notes")
    skill(home / "global", "strong", more="requiresAccess: full\n")
    (home / "secrets" / "settings.yaml").write_text("notes: {params: {k: n1}}\nstrong: {params: {k: s1}}\n")
    command = "echo '{{notes.params.k}} {{strong.params.k}}'"

    async def said(*skills: str) -> str:
        return (await call("shell_exec", ctx=context(skills=skills), command=command)).text

    assert await said("notes", "strong") == "n1 s1"
    assert await said("notes") == "n1 {{strong.params.k}}"
    weaker = await _filled(command, context(Access.WORKSPACE, skills=("notes", "strong")))
    assert weaker.command == "echo 'n1 {{strong.params.k}}'"
    row = await sync_to_async(Workspace.objects.create)(path=str(workspace), name="w")
    await sync_to_async(set_disabled)(row, "skill", "notes", "global", off=True)
    assert await said("notes", "strong") == "{{notes.params.k}} s1"


@pytest.mark.usefixtures("stored")
async def test_L1_secret_values_are_masked_in_every_spelling(call, context):
    seen: list[str] = []
    command = (
        'v=\'{{default.params.token}}\'; echo "[$v] [{{default.params.pin}}]"; printf %s "$v" | base64; '
        "printf 'xy%s' \"$v\" | base64; printf %s \"$v\" | od -An -tx1 | tr -d ' \\n'; echo; "
        "echo 't0k%2Fen%20%2B%25%C3%BC'; echo {{default.params.pin}} >&2; echo {{default.params.short}}; exit 1"
    )
    result = await call("shell_exec", ctx=context(output=seen.append), command=command)
    for text in (result.text, "".join(seen)):
        assert "[***] [***]" in text
        for spelling in ("t0k", "998877", "dDBrL2Vu", "74306b2f", "MGsvZW4"):
            assert spelling not in text
        assert "abc" in text


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("program", ["base64", "base64 -w 20", "od -An -v -tx1 | tr -d ' '"])
async def test_L1_a_long_secret_is_masked_in_an_output_of_many_lines(call, monkeypatch, program):
    secret = "".join(chr(33 + n * 7 % 90) for n in range(150)).replace("'", "x")
    monkeypatch.setenv("SHOP_TOKEN", secret)
    command = f"printf '%s!' 'for me:{{{{default.params.token}}}}' | {program}"
    shown = (await call("shell_exec", command=command)).text.replace("\n", "")
    whole = f"for me:{secret}!".encode()
    spelled = whole.hex() if program.startswith("od") else base64.b64encode(whole).decode()
    assert [piece for at in range(len(spelled) - 20) if (piece := spelled[at : at + 20]) in shown] == []
    assert "***" in shown


@pytest.mark.parametrize(
    "spelling", ["pa!s%2Fw%20rd%C3%BC", "pa!s%2fw+rd%c3%bc", "pa%21s/w%20rdü", "pa!s/w rdü", "%70%61%21s/w%20rd%C3%BC"]
)
def test_L1_a_secret_in_an_address_is_masked_whichever_program_wrote_it(spelling):
    assert Masker(["pa!s/w rdü"]).whole(f"?key={spelling}&x=1") == "?key=***&x=1"


@pytest.mark.usefixtures("stored")
async def test_readonly_sessions_get_no_parameters(monkeypatch, context):
    assert (await _filled("{{default.params.size}}", context(Access.READONLY))).command == "{{default.params.size}}"
    assert (await _filled("{{default.params.size}}", context(Access.WORKSPACE))).command == "5"


@pytest.mark.usefixtures("stored")
async def test_a_value_is_not_read_again_for_more_parameters(home, call):
    (home / "secrets" / "settings.yaml").write_text("default: {params: {a: '{{default.params.b}}', b: inner}}\n")
    assert (await call("shell_exec", command="echo '{{default.params.a}}'")).text == "{{default.params.b}}"


@given(st.lists(st.text(min_size=4, max_size=12), min_size=1, max_size=3), st.data())
def test_L1_cut_into_pieces_the_same_is_masked_as_in_one(secrets, data):
    text = "".join(data.draw(st.lists(st.sampled_from([*secrets, "x", "ab", secrets[0][:3]]), max_size=8)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    masker = Masker(secrets)
    ends = [*cuts, len(text)]
    shown = "".join(masker.feed(text[a:b]) for a, b in zip([0, *cuts], ends, strict=True)) + masker.flush()
    assert shown == Masker(secrets).whole(text)
