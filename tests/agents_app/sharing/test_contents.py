"""What an archive may bring, what an import would do, and which values it waits for: the pure parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents_app.sharing.contents import Item, is_item_path, sort_out
from agents_app.sharing.journal import Journal, Moved, missing_above
from agents_app.sharing.needs import needs
from agents_app.sharing.plan import BLOCKED, Choice, Step, check_seen, chosen, plan_id
from halo_site.lib.errors import BadRequest, Conflict


@pytest.mark.parametrize(
    ("path", "item", "kind"),
    [
        (".halo/INSTRUCTIONS.md", ".halo/INSTRUCTIONS.md", "instructions"),
        ("a/b/.halo/INSTRUCTIONS.md", "a/b/.halo/INSTRUCTIONS.md", "instructions"),
        (".halo/INDEX.md", ".halo/INDEX.md", "index"),
        (".halo/docs/a/b.md", ".halo/docs/a/b.md", "document"),
        (".halo/prompts/all/A.md", ".halo/prompts/all/A.md", "prompt"),
        (".halo/agents/mine/agent.yaml", ".halo/agents/mine", "agent"),
        (".halo/skills/local/lib/run.py", ".halo/skills/local", "skill"),
    ],
)
def test_what_share_packs_has_a_place(path, item, kind):
    assert sort_out([path]) == ([Item(item, kind, (path,))], [])
    assert is_item_path(item)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("README.md", "about"),
        (".git/hooks/post-checkout", "git"),
        (".halo/skills/x/.git/config", "git"),
        (".halo/docs/.GIT/config", "git"),
        (".halo/settings.yaml", "private"),
        (".halo/skills/x/settings.yaml", "private"),
        (".halo/agents/x/USER.md", "private"),
        (".halo/docs/user.MD", "private"),
        (".halo/halo.db", "private"),
        (".halo/disabled.json", "private"),
        (".halo/agents/__apply_agent__/AGENT.md", "internal"),
        ("code.py", "foreign"),
        ("AGENTS.md", "foreign"),
        (".halo/docs", "foreign"),
        (".halo/agents/agent.yaml", "foreign"),
        (".halo/agents/not an id/agent.yaml", "foreign"),
        (".halo/prompts/bootstrap/B.md", "foreign"),
        (".halo/prompts/all/run.py", "foreign"),
        (".halo/sessions/a/1.jsonl", "foreign"),
        (".halo/memory/a.md", "foreign"),
        (".halo/evo/runs/x/.halo/INSTRUCTIONS.md", "foreign"),
        (".halo/import/1/journal.json", "foreign"),
        (".HALO/INSTRUCTIONS.md", "foreign"),
        ("a/.Halo/.halo/INSTRUCTIONS.md", "foreign"),
    ],
)
def test_everything_else_is_left_out_with_a_reason(path, reason):
    items, left = sort_out([path])
    assert items == []
    assert [one.reason for one in left] == [reason]
    assert not is_item_path(path)


@pytest.mark.parametrize(
    "path", ["", "..", ".halo/agents/..", ".halo/agents/x/y", ".halo//INDEX.md", "../.halo/INSTRUCTIONS.md"]
)
def test_a_journal_names_nothing_that_could_not_be_an_item(path):
    assert not is_item_path(path)
    good = Journal("moving", 1, "a.zip", [Moved(".halo/INDEX.md", "d", True)], ["a"])
    assert Journal.load(good.dump()) == good
    assert Journal.load(good.dump().replace(b".halo/INDEX.md", path.encode())) is None


@given(st.binary(max_size=60))
def test_a_journal_of_any_bytes_is_read_or_refused(data):
    assert Journal.load(data) is None


@given(
    st.lists(
        st.lists(
            st.sampled_from([".halo", ".git", "agents", "skills", "docs", "x", "INSTRUCTIONS.md", "user.md"]),
            min_size=1,
            max_size=5,
        )
    )
)
def test_every_file_is_in_one_item_or_left_out(parts):
    paths = {"/".join(one) for one in parts}
    items, left = sort_out(paths)
    told = [path for item in items for path in item.files] + [one.path for one in left]
    assert sorted(told) == sorted(paths)
    assert not any(".git" in path.split("/") for item in items for path in item.files)
    assert all(is_item_path(item.path) for item in items)


def step(name: str, here: str | None = None, *, in_home: bool = False) -> Step:
    return Step(Item(f".halo/skills/{name}", "skill", ()), "ours", here, in_home, 1)


STEPS = [step("new"), step("same", "ours"), step("other", "theirs"), step("twin", in_home=True), step("stuck", BLOCKED)]


def names(steps: list[Step]) -> list[str]:
    return [one.item.name for one in steps]


def test_each_item_has_a_verdict():
    assert [one.verdict for one in STEPS] == ["new", "same", "differs", "hides", "blocked"]


def test_only_what_is_new_comes_unasked():
    assert names(chosen(STEPS, Choice())) == ["new"]
    assert names(chosen(STEPS, Choice(replace=[".halo/skills/other", ".halo/skills/twin"]))) == ["new", "other", "twin"]
    assert names(chosen(STEPS, Choice(replace=[".halo/skills/other"], leave=[".halo/skills/new"]))) == ["other"]


@pytest.mark.parametrize(
    "choice",
    [
        *(Choice(replace=[f".halo/skills/{name}"]) for name in ("new", "same", "stuck", "none")),
        *(Choice(leave=[f".halo/skills/{name}"]) for name in ("same", "other", "none", "new")),
    ],
)
def test_a_choice_that_means_nothing_is_refused(choice):
    with pytest.raises(BadRequest):
        chosen(STEPS, choice)


def test_a_plan_is_another_one_when_archive_or_workspace_changed():
    check_seen(STEPS, plan_id(STEPS))
    for changed in (STEPS[:-1], [step("new", "x"), *STEPS[1:]], [step("new", in_home=True), *STEPS[1:]]):
        with pytest.raises(Conflict, match="changed since the preview"):
            check_seen(changed, plan_id(STEPS))


def test_folders_that_are_missing_are_told_from_the_top():
    assert missing_above(["a/b/.halo/I", ".halo/docs/x"], ["a", ".halo"]) == [".halo/docs", "a/b", "a/b/.halo"]


def waiting(**files: str) -> dict[str, tuple[bool, bool]]:
    """key -> required, secret."""
    texts = {f".halo/skills/w/{name.replace('__', '.')}": text for name, text in files.items()}
    items, _ = sort_out(texts)
    return {need.key: (need.required, need.field.secret) for need in needs(items, lambda path: texts.get(path, ""))}


def test_what_share_took_out_waits_for_a_value():
    config = "params:\n- {key: pin, default: '{{w.params.pin}}', secret: true}\n- {key: unit, default: metric}\n"
    config += "secrets:\n- {key: k}\n"
    assert waiting(SKILL__md="use {{w.params.unit}} {{params.city}} {{other.params.x}}", config__yaml=config) == {
        "w.params.pin": (True, True),
        "w.params.unit": (False, False),
        "w.params.city": (True, False),
        "w.secrets.k": (False, True),
    }


def test_the_name_tells_a_secret_that_nothing_declares():
    assert waiting(agent__yaml='api_key: "{{w.params.api_key}}"') == {"w.params.api_key": (True, True)}


@pytest.mark.parametrize("config", ["params: 5", "[", "params: [x, {key: ''}]", "params: {a: b}", "\0"])
def test_a_config_that_cannot_be_read_asks_for_nothing(config):
    assert waiting(config__yaml=config) == {}
