"""What a typed line does, whoever types it (spec commands; its invariants by number)."""

import logging
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from agents_app.commands import BUILT_IN, Command
from agents_app.disabled import disabled_in, set_disabled
from halo_site.lib.access_level import Access
from sessions_app.commands import dispatch, evo
from sessions_app.commands.context import Context
from sessions_app.commands.registry import descriptors
from sessions_app.models import Entry, Session
from workspaces_app.models import AuditEvent, Workspace

from ..conftest import Say
from .conftest import Type

Conversation = Callable[[str], Session]
READONLY, WORKSPACE, FULL = Access.READONLY, Access.WORKSPACE, Access.FULL


def rows(text: str) -> dict[str, str]:
    """Head of each row of a help text -> the row."""
    return {line.split()[0]: line for line in text.splitlines()[1:]}


def test_1_an_alias_is_the_command_it_stands_for(type_: Type, conversation: Conversation, aliases: Path):
    conversation("one")
    conversation("two")
    plain = type_("/session switch 2", active="two")
    assert plain is not None
    assert plain.switch_to == "one"
    assert type_("/ss 2", active="two") == type_("/session sw 2", active="two") == plain


def test_1_the_aliases_are_read_again_when_they_change(type_: Type, conversation: Conversation, aliases: Path):
    conversation("one")
    assert type_("/ss 1", active="one")
    aliases.write_text('top: {"/go": "/session switch"}\n')
    assert type_("/ss 1", active="one") is None
    assert type_("/go 1", active="one")
    aliases.unlink()
    assert type_("/go 1", active="one") is None


@pytest.mark.parametrize("prefix", ["", "tg_7_"])
def test_clear_begins_a_new_session_on_every_surface(
    type_: Type, conversation: Conversation, aliases: Path, prefix: str
):
    conversation("one")
    aliases.unlink()
    answer = type_("/clear", active="one", prefix=prefix)
    assert answer is not None
    assert answer.switch_to not in (None, "one")
    assert answer.text == "New session."


def test_no_skill_gets_the_name_that_every_surface_has(type_: Type, conversation: Conversation, skills: Path, context):
    (skills / "notes" / "SKILL.md").write_text("---\nname: notes\ndescription: x\ncommand: /clear\n---\nx")
    conversation("one")
    assert "clear" not in [each["name"] for each in descriptors(context(active="one"), skills=True)]
    answer = type_("/clear", active="one")
    assert answer is not None
    assert not answer.started_turn


def test_broken_aliases_are_none(type_: Type, conversation: Conversation, aliases: Path):
    conversation("one")
    aliases.write_text("top: [\n")
    assert type_("/session list", active="one")
    assert type_("/ss 1", active="one") is None


def test_2_readonly_is_refused_and_nothing_is_deleted(type_: Type, workspace: Workspace, skills: Path):
    folder = Path(workspace.path, ".halo", "agents", "x")
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text("name: X\n")
    for level in (READONLY, WORKSPACE):
        answer = type_("/agent delete x confirm", level=level)
        assert answer is not None
        assert answer.text == f"/agent delete needs full access; you have {level} here."
    assert folder.is_dir()
    help_ = type_("/help", level=READONLY, prefix="tg_1_")
    assert help_ is not None
    assert rows(help_.text)["/agent"].endswith("(list/switch/desc)")
    assert "/evo" not in rows(help_.text)


def test_a_deletion_is_asked_for_twice_and_told_of(type_: Type, workspace: Workspace, skills: Path, owner):
    asked, done = type_("/skill delete notes"), type_("/skill delete notes confirm")
    assert asked is not None
    assert done is not None
    assert "To do it: /skill delete notes confirm" in asked.text
    assert done.text == "Deleted the skill notes (workspace)."
    assert not (skills / "notes").exists()
    assert AuditEvent.objects.get(action="skill.delete").actor_name == owner.username


def test_4_a_skill_never_shadows_a_built_in(type_: Type, conversation: Conversation, skills: Path, caplog):
    for name, command in (("thief", "/session"), ("other", "/notes")):
        (skills / name).mkdir()
        (skills / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\ncommand: {command}\n---\nx")
    conversation("one")
    with caplog.at_level(logging.WARNING, "halo.commands"):
        answer = type_("/session list", active="one")
    assert answer is not None
    assert "About one" in answer.text
    assert 'skill "other": /notes belongs to "notes"' in caplog.text


def test_5_a_verb_of_a_skill_has_a_level_of_its_own(type_: Type, conversation: Conversation, skills: Path):
    conversation("one")
    refused = type_("/notes publish", level=WORKSPACE, active="one")
    assert refused is not None
    assert refused.text == "/notes publish needs full access; you have workspace here."
    assert Entry.objects.count() == 1
    done = type_("/notes draft v2 now", level=WORKSPACE, active="one")
    assert done is not None
    assert (done.started_turn, done.session_id) == (True, "one")


def test_14_a_skill_is_a_message_to_the_agent_at_the_level_of_whoever_typed(
    type_: Type, conversation: Conversation, skills: Path
):
    conversation("one")
    type_('/notes draft "a b"', level=WORKSPACE, active="one")
    entry = Entry.objects.latest("pk")
    assert entry.text == '[Skill activated: /notes] draft "a b"'
    assert entry.meta["model_text"] == '[Skill activated: /notes]\n\nDo draft for draft "a b" in Default'
    assert entry.origin["level"] == "workspace"


def test_a_skill_without_arguments_leaves_no_blank_behind_it(type_: Type, conversation: Conversation, skills: Path):
    (skills / "plain").mkdir()
    (skills / "plain" / "SKILL.md").write_text("---\nname: plain\ndescription: x\ncommand: /notes2\n---\nx")
    session = conversation("one")
    listed = type_("/notes", active="one")
    assert listed is not None
    assert listed.text.splitlines() == ["/notes actions:", "  /notes draft    Draft from git", "  /notes publish"]
    refused = type_("/notes2", active="one")
    assert refused is not None
    assert refused.text == "/notes2 is not for Default: its agent.yaml does not list the skill plain."
    assert Entry.objects.filter(session=session).count() == 1


def test_6_a_disabled_skill_is_nowhere(
    type_: Type, context: Callable[..., Context], conversation: Conversation, skills: Path, workspace: Workspace
):
    conversation("one")
    done = type_("/skill disable notes")
    assert done is not None
    assert done.text == "notes is off in this workspace."
    assert ("skill", "notes", "workspace") in disabled_in(workspace.pk)
    again = type_("/skill disable notes")
    assert again is not None
    assert again.text == "notes is off already."
    names = [command["name"] for command in descriptors(context(active="one"), skills=True)]
    assert "notes" not in names
    answer = type_("/notes draft", active="one")
    assert answer is not None
    assert "switched off" in answer.text
    type_("/skill disable agent")
    listed = type_("/agent", active="one")
    assert listed is not None
    assert [line.split()[1] for line in listed.text.splitlines()[1:]] == ["list", "switch", "desc", "delete"]


def test_a_skill_that_is_off_in_the_scope_that_does_not_serve_it_runs(
    type_: Type, conversation: Conversation, skills: Path, workspace: Workspace
):
    conversation("one")
    set_disabled(workspace, "skill", "notes", "global", off=True)
    done = type_("/notes draft", active="one")
    assert done is not None
    assert done.started_turn


def test_7_a_command_without_code_stops_the_start():
    with pytest.raises(ImproperlyConfigured, match="fly"):
        dispatch.check_table({**BUILT_IN, "fly": Command("fly", "builtin")})
    with pytest.raises(ImproperlyConfigured, match="help"):
        dispatch.check_table({name: command for name, command in BUILT_IN.items() if name != "help"})
    dispatch.check_table()


def test_8_goal_is_unknown_while_it_is_off(type_: Type, context: Callable[..., Context], agent_folder: Path):
    assert type_("/goal create") is None
    help_ = type_("/help")
    assert help_ is not None
    assert "goal" not in help_.text
    assert "goal" not in [command["name"] for command in descriptors(context(), skills=False)]


def test_8_goal_needs_full_access_where_it_is_on(type_: Type, monkeypatch, agent_folder: Path):
    monkeypatch.setattr(dispatch, "HANDLERS", dict(dispatch.HANDLERS))
    verbs = ("create", "status", "pause", "resume", "clear")
    dispatch.add_command("goal", {verb: dispatch.HANDLERS["workspace info"] for verb in verbs})
    dispatch.check_table()
    refused, done = type_("/goal status", level=WORKSPACE), type_("/goal status")
    assert refused is not None
    assert "needs full access" in refused.text
    assert done is not None
    assert done.text.startswith("You are in")


def test_9_without_session_and_agent_only_built_ins_are_listed(context: Callable[..., Context], skills: Path):
    listed = {command["name"]: command for command in descriptors(context(), skills=False)}
    assert sorted(listed) == ["agent", "evo", "help", "session", "skill", "workspace"]
    assert [verb["name"] for verb in listed["agent"]["verbs"]] == ["list", "switch", "desc", "delete"]
    with_agent = {command["name"]: command for command in descriptors(context(draft_agent="default"), skills=True)}
    assert with_agent["notes"]["source"] == "skill"
    assert [verb["name"] for verb in with_agent["agent"]["verbs"]][-1] == "create"


def test_12_numbers_follow_the_age_of_sessions_not_their_talk(type_: Type, conversation: Conversation, say: Say):
    for number in range(3):
        conversation(f"s{number}")
    before = type_("/session list", active="s0")
    say("more", sid="s0")
    after = type_("/session list", active="s0")
    assert before is not None
    assert after is not None
    assert before.text == after.text
    lines = [line for line in after.text.splitlines() if "About" in line]
    assert [line.rpartition(" ")[2] for line in lines] == ["s2", "s1", "s0"]
    assert lines[2].startswith("→ 3.")


def test_13_a_reader_of_a_channel_reaches_only_own_sessions(type_: Type, conversation: Conversation):
    conversation("tg_1_a")
    conversation("tg_2_b")
    mine = {"level": READONLY, "prefix": "tg_1_"}
    listed = type_("/session list", active="tg_2_b", **mine)
    assert listed is not None
    assert "tg_2_b" not in listed.text
    by_index = type_("/session switch 2", **mine)
    assert by_index is not None
    assert by_index.switch_to is None
    assert "1 to 1" in by_index.text
    info = type_("/session info", active="tg_2_b", **mine)  # an override that is not theirs
    assert info is not None
    assert "tg_1_a" in info.text


def test_a_dead_session_counts_as_none_for_full_access(type_: Type, conversation: Conversation):
    conversation("tg_1_a")
    answer = type_("/session stop", active="tg_1_gone", prefix="tg_1_")
    assert answer is not None
    assert answer.text == "There is no session to stop."
    lower = type_("/session stop", active="tg_1_gone", prefix="tg_1_", level=WORKSPACE)
    assert lower is not None
    assert lower.text != answer.text


def test_in_a_browser_nothing_stands_in_for_an_open_session(type_: Type, conversation: Conversation):
    conversation("one")
    answer = type_("/session stop", active="draft")
    assert answer is not None
    assert answer.text == "There is no session to stop."


def test_a_member_who_may_only_read_sets_nobody_to_work(type_: Type, conversation: Conversation, skills: Path):
    conversation("one")
    before = Entry.objects.count(), Session.objects.count()
    for line in ("/session stop", "/session interrupt", "/session compact", "/session new", "/agent switch 1"):
        answer = type_(line, level=READONLY, active="one")
        assert answer is not None
        assert "needs workspace access" in answer.text
    (skills / "open").mkdir()
    (skills / "open" / "SKILL.md").write_text("---\nname: notes\ndescription: x\ncommand: /open\n---\nx")
    assert "needs workspace" in (type_("/notes draft", level=READONLY, active="one") or answer).text
    assert (Entry.objects.count(), Session.objects.count()) == before


def test_15_evo_works_on_a_main_session_and_says_that_there_is_no_evolution(
    type_: Type, conversation: Conversation, monkeypatch
):
    conversation("one")
    answer = type_("/evo be quick", active="one")
    assert answer is not None
    assert answer.text == "Evolution is not available on this server; nothing was queued."
    refused = type_("/evo", active="one", level=WORKSPACE)
    assert refused is not None
    assert refused.text == "/evo needs full access."
    asked = []
    monkeypatch.setattr(evo, "_queue", lambda session, hint, user: asked.append((session.sid, hint)) or "queued")
    queued = type_("/evo be quick", active="one")
    assert queued is not None
    assert queued.text == "📝 Queued for evaluation"
    assert asked == [("one", "be quick")]
    child = type_("/evo", active="one>child")
    assert child is not None
    assert "sub-agent" in child.text


def test_each_command_of_a_skill_is_in_the_trail_refused_ones_too(
    type_: Type, conversation: Conversation, skills: Path
):
    conversation("one")
    type_("/notes draft my secret plan", active="one", address="192.0.2.7")
    type_("/notes publish", active="one", level=WORKSPACE, prefix="tg_7_", label="Telegram: bot")
    type_("/session list", active="one")
    done, refused = AuditEvent.objects.filter(action="command.skill").order_by("pk")
    assert (done.target, done.address, done.detail) == (
        "/notes draft",
        "192.0.2.7",
        {"skill": "notes", "channel": "WS", "level": "full", "session": "one", "outcome": "done"},
    )
    assert refused.target == "/notes publish"
    assert (refused.detail["channel"], refused.detail["level"]) == ("Telegram: bot", "workspace")
    assert refused.detail["outcome"] == "access_required"


def test_11_stop_in_one_tab_leaves_the_session_of_another_alone(type_: Type, conversation: Conversation):
    for sid in ("one", "two"):
        conversation(sid)
    type_("/session stop", active="one")
    folded = Entry.objects.filter(turn__stop_reason="folded").values_list("session__sid", flat=True)
    assert list(folded) == ["one"]


def test_18_a_changed_skill_counts_for_the_next_command(type_: Type, conversation: Conversation, skills: Path):
    conversation("one")
    file = skills / "notes" / "SKILL.md"
    file.write_text(file.read_text().replace("requiresAccess: workspace", "requiresAccess: full"))
    answer = type_("/notes draft", level=WORKSPACE, active="one")
    assert answer is not None
    assert "needs full access" in answer.text


def test_an_unknown_command_is_nobodys_and_near_names_are_told(
    type_: Type, context: Callable[..., Context], skills: Path
):
    assert type_("/sesion list") is None
    assert dispatch.unknown("sesion", "list", context()) == "Unknown command: sesion. Did you mean /session?"
    assert dispatch.unknown("zzzz", "", context()) == "Unknown command: zzzz"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/session swich 2", "Unknown command: session swich. Did you mean /session switch?"),
        ("/session zzzz", "Unknown command: session zzzz. Did you mean /session help?"),
        ("/zzzz " + "y" * 5000, "Unknown command: zzzz"),
    ],
)
def test_near_verbs_are_told_of_a_known_command(
    type_: Type, context: Callable[..., Context], conversation: Conversation, line: str, said: str
):
    conversation("one")
    assert type_(line, active="one") is None
    assert dispatch.unknown(*dispatch.split(line), context(active="one")) == said


def test_a_new_session_of_a_channel_is_the_callers_and_no_stronger(type_: Type, agent_folder: Path):
    answer = type_("/session new", level=WORKSPACE, prefix="tg_7_", label="Telegram: bot")
    assert answer is not None
    session = Session.objects.get(sid=answer.switch_to)
    assert session.sid.startswith("tg_7_")
    assert (session.access_level, session.description) == ("workspace", "Telegram: bot")


def test_26_a_new_session_in_a_browser_leaves_no_row(type_: Type, agent_folder: Path):
    answer = type_("/session new")
    assert answer is not None
    assert answer.switch_to
    assert not Session.objects.exists()


def test_another_agent_means_another_session(type_: Type, conversation: Conversation, workspace: Workspace):
    conversation("one")
    folder = Path(workspace.path, ".halo", "agents", "cook")
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text("name: Cook\nmodel: {provider: demo, id: demo, endpoint: 'demo:'}\n")
    listed = type_("/agent list", active="one")
    assert listed is not None
    assert "Default (default) ◀" in listed.text
    answer = type_("/agent switch Cook", active="one")
    assert answer is not None
    assert Session.objects.get(sid=answer.switch_to).agent_id == "cook"
    missing = type_("/agent switch nobody", active="one")
    assert missing is not None
    assert missing.text == 'There is no agent "nobody" here.'
    usage = type_("/agent switch 9", active="one")
    assert usage is not None
    assert "n from 1 to 2" in usage.text


def test_a_session_is_found_by_text_and_by_the_end_of_its_id(type_: Type, conversation: Conversation):
    for name in ("apple_1111", "pear_2222"):
        conversation(name)
    found = type_("/session list pear", active="apple_1111")
    assert found is not None
    assert "About pear" in found.text
    assert "About apple" not in found.text
    switched = type_("/session switch 1111")
    assert switched is not None
    assert switched.switch_to == "apple_1111"


def test_a_long_list_is_paged_with_the_numbers_of_the_whole(type_: Type, workspace: Workspace, owner, agent_folder):
    now = timezone.now()
    Session.objects.bulk_create(
        Session(
            workspace=workspace, sid=f"s{n}", agent_id="default", agent_name="D", created_by=owner, title=f"T{n}",
            created_at=now + timedelta(seconds=n), updated_at=now,
        )
        for n in range(60)
    )  # fmt: skip
    first, second = type_("/session list"), type_("/session list 2")
    assert first is not None
    assert second is not None
    assert "50 of 60. More: /session list 2" in first.text
    assert " 51. [" in second.text
    assert second.text.count(". [") == 10


def test_info_and_context_say_what_there_is(type_: Type, conversation: Conversation, skills: Path):
    conversation("one")
    info = type_("/session info", active="one")
    assert info is not None
    assert info.text.startswith("🌳 Default, root: one")
    context = type_("/session context", active="one")
    assert context is not None
    lines = {line.split()[0]: line for line in context.text.splitlines()}
    assert lines["Model"].endswith("demo/demo")
    assert "file_read" in lines["Tools"]
    assert "notes" in lines["Skills"]


def test_context_says_what_each_file_adds_and_which_is_cut(
    type_: Type, conversation: Conversation, workspace: Workspace, agent_folder: Path
):
    conversation("one")
    (agent_folder / "AGENT.md").write_text("y" * 70_000)
    for folder in (".halo", "deep/.halo"):
        Path(workspace.path, folder).mkdir(parents=True, exist_ok=True)
    Path(workspace.path, ".halo", "INDEX.md").write_text("index\n" * 20_000)
    Path(workspace.path, ".halo", "INSTRUCTIONS.md").write_text("x" * 2048)
    Path(workspace.path, "deep/.halo/INSTRUCTIONS.md").write_text("z" * 1024)
    Session.objects.update(working_dir="deep")
    context = type_("/session context", active="one")
    assert context is not None
    lines = context.text.splitlines()
    files = lines[[line.split()[0] for line in lines].index("Files") :]
    assert re.fullmatch(r"Files +agents/default/AGENT\.md \(6\d\.\d KiB, cut\)", files[0].strip())
    told = [line.strip() for line in files]
    assert ".halo/INSTRUCTIONS.md (2.0 KiB)" in told
    assert "deep/.halo/INSTRUCTIONS.md (1.0 KiB)" in told
    assert any(re.fullmatch(r"\.halo/INDEX\.md \(6\d\.\d KiB, cut\)", line) for line in told)
    assert "prompt/all (built-in fallback)" in told


def test_a_folder_that_is_not_yours_is_not_there(type_: Type, workspace: Workspace, tmp_path: Path):
    (tmp_path / "secret").mkdir()
    foreign, missing = type_(f"/workspace switch {tmp_path}/secret"), type_(f"/workspace switch {tmp_path}/nothing")
    assert foreign is not None
    assert missing is not None
    assert foreign.text.replace("secret", "nothing") == missing.text
    same = type_(f"/workspace switch {workspace.path}/")
    assert same is not None
    assert same.text == "You are there already."


@pytest.mark.parametrize("line", ["/", "/ ", "", "/session\tlist", "/session   list  ", "//x", "/workspace switch \0"])
def test_odd_lines_never_raise(type_: Type, conversation: Conversation, line: str):
    conversation("one")
    answer = type_(line, active="one")
    assert answer is None or answer.text
