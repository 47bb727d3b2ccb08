"""The page of agents: what there is, what is wrong with it, changing it, and starting a session with one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import Opener
from .parts import PATIENCE, Halo, Person

MODEL = "model:\n  provider: demo\n  id: demo\n  endpoint: demo://local\n"
REVIEWER = f"# ours\nname: Reviewer\ndescription: Reads changes\n{MODEL}tools:\n  - file_read  # only looks\n"


class Agents:
    """A person on the page of agents of a folder of their own."""

    def __init__(self, me: Person, folder: Path) -> None:
        self.me, self.page, self.folder = me, me.page, folder

    def opens(self) -> "Agents":
        self.me.arrives(f"/?folder={self.folder}").signs_in()
        expect(self.me.composer).to_be_visible(timeout=PATIENCE)
        self.page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
        expect(self.row("Default")).to_be_visible(timeout=PATIENCE)
        return self

    def row(self, name: str) -> Locator:
        return self.page.locator(".pane-row").filter(has=self.page.get_by_text(name, exact=True))

    def tab(self, name: str) -> "Agents":
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self

    def file(self, agent: str, name: str = "agent.yaml") -> Path:
        return self.folder / ".halo" / "agents" / agent / name


@pytest.fixture
def agents(shared_halo: Halo, person: Opener, tmp_path: Path) -> Callable[..., Agents]:
    def prepare(**files: str) -> Agents:
        for agent, text in files.items():
            (tmp_path / "work/.halo/agents" / agent).mkdir(parents=True)
            (tmp_path / "work/.halo/agents" / agent / "agent.yaml").write_text(text)
        (tmp_path / "work").mkdir(exist_ok=True)
        return Agents(person(shared_halo), tmp_path / "work")

    return prepare


def editor(page: Page, name: str = "agent.yaml") -> Locator:
    return page.get_by_role("textbox", name=name)


def test_agents_are_listed_with_scope_and_what_is_wrong(agents: Callable[..., Agents]):
    own = "name: Executor\ndescription: Ours\n" + MODEL
    it = agents(reviewer=REVIEWER, executor=own, broken="name: Broken\npriority: many\n").opens()
    here = it.page.get_by_role("group", name="This workspace")
    shared = it.page.get_by_role("group", name="Global")
    expect(here.locator(".pane-row")).to_have_count(3)
    expect(shared.locator(".pane-row").filter(has_text="overridden")).to_have_count(1)
    expect(here.locator(".pane-row").filter(has_text="line 2: priority")).to_be_visible()

    it.row("broken").first.click()
    expect(it.page.get_by_role("alert")).to_contain_text("broken/agent.yaml is broken")
    expect(it.page.get_by_role("button", name="New session", exact=True)).to_have_count(0)  # it cannot run
    it.page.get_by_role("button", name="Go to line 2").click()
    expect(it.page.locator(".code-gutter .bad")).to_have_text("2")
    editor(it.page).fill("name: Mended\n" + MODEL)
    editor(it.page).press("Control+s")
    expect(it.row("Mended")).to_be_visible(timeout=PATIENCE)
    assert it.file("broken").read_text().startswith("name: Mended")


def test_the_list_is_one_stop_for_tab_and_arrows_go_on_from_there(agents: Callable[..., Agents]):
    it = agents(reviewer=REVIEWER).opens()
    stops = it.page.locator(".pane-list button:not([tabindex='-1'])")
    expect(stops).to_have_count(1)
    it.row("Reviewer").click()
    expect(stops).to_have_attribute("aria-current", "page")
    expect(stops).to_contain_text("Reviewer")
    it.page.keyboard.press("ArrowDown")
    focused = it.page.locator(".pane-row:focus")
    expect(focused).not_to_contain_text("Reviewer")
    it.page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-current", "page")
    it.page.keyboard.press("Home")
    expect(focused).to_contain_text("Reviewer")


def test_a_refused_file_is_not_saved_and_says_its_line(agents: Callable[..., Agents]):
    it = agents(reviewer=REVIEWER).opens()
    it.row("Reviewer").click()
    it.tab("agent.yaml")
    expect(editor(it.page)).to_have_value(REVIEWER)
    editor(it.page).fill(REVIEWER + "priority: high\n")
    it.page.get_by_role("button", name="Save").click()
    expect(it.page.locator(".code-said.err")).to_contain_text("line 10: priority", timeout=PATIENCE)
    expect(it.page.locator(".code-gutter .bad")).to_have_text("10")
    assert it.file("reviewer").read_text() == REVIEWER
    it.tab("Overview").tab("agent.yaml")  # what is not saved is kept
    expect(editor(it.page)).to_have_value(REVIEWER + "priority: high\n")
    editor(it.page).fill(REVIEWER + "priority: 7\n")
    it.page.get_by_role("button", name="Save").click()
    expect(it.page.locator(".code-said.ok")).to_have_text("Saved", timeout=PATIENCE)
    assert it.file("reviewer").read_text() == REVIEWER + "priority: 7\n"


def test_tools_skills_and_team_are_switched_by_a_press_and_comments_stay(agents: Callable[..., Agents]):
    it = agents(reviewer=REVIEWER).opens()
    it.row("Reviewer").click()
    grep = it.page.get_by_role("group", name="Tools").get_by_role("button", name="grep")
    expect(grep).to_have_attribute("aria-pressed", "false")
    grep.click()
    expect(grep).to_have_attribute("aria-pressed", "true", timeout=PATIENCE)
    team = it.page.get_by_role("group", name="Team")
    team.get_by_role("button", name="executor", exact=True).click()
    expect(team.get_by_role("button", name="executor", exact=True)).to_have_attribute(
        "aria-pressed", "true", timeout=PATIENCE
    )
    team.get_by_role("button", name="executor", exact=True).click()
    expect(team.get_by_role("button", name="executor", exact=True)).to_have_attribute(
        "aria-pressed", "false", timeout=PATIENCE
    )
    assert it.file("reviewer").read_text() == REVIEWER + "  - grep\n"


def test_an_agent_is_made_from_another_used_switched_off_and_deleted(agents: Callable[..., Agents]):
    it = agents(reviewer=REVIEWER).opens()
    page = it.page
    page.get_by_role("button", name="New agent").click()
    dialog = page.get_by_role("dialog", name="New agent")
    dialog.get_by_label("Name", exact=True).fill("Reviewer")
    expect(dialog.get_by_text("There is an agent reviewer already.")).to_be_visible()
    dialog.get_by_label("Name", exact=True).fill("Second Reader")
    dialog.get_by_label("What it is for").fill("Reads again: twice")
    dialog.get_by_role("combobox", name="Start from").click()
    page.get_by_role("option", name="Reviewer (Workspace)").click()
    dialog.get_by_role("button", name="Create agent").click()
    expect(page.get_by_role("heading", name="Second Reader")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Reads again: twice").last).to_be_visible()
    assert "  - file_read  # only looks\n" in it.file("second-reader").read_text()

    page.get_by_role("button", name="New session", exact=True).click()
    expect(it.me.composer).to_be_focused(timeout=PATIENCE)
    expect(page.get_by_role("button", name="Choose an agent")).to_contain_text("Second Reader")

    page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
    page.get_by_role("button", name="Disable here").click()
    expect(it.row("Second Reader")).to_contain_text("disabled", timeout=PATIENCE)
    expect(page.get_by_role("button", name="New session", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete agent").click()
    expect(it.row("Second Reader")).to_have_count(0, timeout=PATIENCE)
    assert not it.file("second-reader").parent.exists()


def test_a_global_agent_is_duplicated_into_the_workspace_and_takes_over(agents: Callable[..., Agents]):
    it = agents().opens()
    it.row("Deep Executor").click()
    it.page.get_by_role("button", name="Duplicate into workspace").click()
    expect(it.page.get_by_text("Used in place of the global agent")).to_be_visible(timeout=PATIENCE)
    expect(it.page.get_by_role("group", name="Global").get_by_text("overridden")).to_be_visible()
    assert "name: Deep Executor" in it.file("deep-executor").read_text()
    assert it.file("deep-executor", "AGENT.md").is_file()


def test_what_the_model_gets_follows_the_level_and_the_text_beside(agents: Callable[..., Agents]):
    it = agents(reviewer=REVIEWER).opens()
    it.row("Reviewer").click()
    it.tab("AGENT.md")
    editor(it.page, "AGENT.md").fill("Be brief, {{agent_name}}.")
    it.page.get_by_role("button", name="Save").click()
    expect(it.page.get_by_text("Saved", exact=True)).to_be_visible(timeout=PATIENCE)
    it.tab("What the model gets")
    prompt = editor(it.page, "System prompt")
    expect(prompt).to_have_value(re.compile(r"Be brief, Reviewer\."), timeout=PATIENCE)
    made = it.page.get_by_label("What it is made of")
    expect(made.get_by_text("global/INSTRUCTIONS.md")).to_be_visible()
    expect(made.get_by_text("file_read", exact=True)).to_be_visible()
    it.page.get_by_role("radio", name="read only").click()
    expect(made.get_by_text("file_read", exact=True)).to_be_visible(timeout=PATIENCE)


def test_on_a_phone_list_and_agent_take_turns_and_nothing_scrolls_sideways(
    shared_halo: Halo, person: Opener, tmp_path: Path
):
    me = person(shared_halo, width=375, height=812, has_touch=True).arrives(f"/?folder={tmp_path}").signs_in()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    tabs = me.page.get_by_role("navigation", name="Activities")
    tabs.get_by_role("button", name="More").click()
    me.page.get_by_role("button", name="Agents").click()
    row = me.page.locator(".pane-row").filter(has_text="Deep Executor")
    row.click()
    expect(row).to_be_hidden()
    for name in ("Overview", "agent.yaml", "AGENT.md", "What the model gets"):
        me.page.get_by_role("tab", name=name, exact=True).click()
        expect(me.page.get_by_role("tabpanel", name=name).locator(".card, textarea").first).to_be_visible(
            timeout=PATIENCE
        )
        assert me.page.evaluate("() => document.documentElement.scrollWidth") == 375
    me.page.get_by_role("button", name="Back", exact=True).click()
    row.click()
    me.page.get_by_role("button", name="New session", exact=True).click()
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    expect(tabs.get_by_role("button", name="Chat")).to_have_attribute("aria-current", "page")


def test_the_page_speaks_chinese(shared_halo: Halo, person: Opener, tmp_path: Path):
    me = person(shared_halo, locale="zh-CN").arrives(f"/?folder={tmp_path}")
    me.page.locator("input[type=password]").fill(shared_halo.password)
    me.page.keyboard.press("Enter")
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    me.page.locator(".rail").get_by_label("智能体").click()
    expect(me.page.get_by_role("group", name="全局").locator(".pane-row").first).to_be_visible(timeout=PATIENCE)
    for name in ("概览", "模型收到的内容"):
        me.page.get_by_role("tab", name=name).click()
    expect(me.page.get_by_role("complementary", name="组成")).to_be_visible(timeout=PATIENCE)


def test_a_member_without_full_access_reads_and_is_told_why(agents: Callable[..., Agents], person: Opener):
    it = agents(reviewer=REVIEWER).opens()
    me = person(it.me.halo)
    me.page.context.add_cookies([{"name": "halo_token", "value": it.me.halo.member(it.folder), "url": me.halo.address}])
    me.arrives(f"/?folder={it.folder}")
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    expect(me.page.locator(".chat-rights")).to_have_text("sandbox")
    me.page.get_by_role("navigation", name="Activities").get_by_label("Agents").click()
    me.page.locator(".pane-row").filter(has_text="Reviewer").click()
    expect(me.page.get_by_role("button", name="New session", exact=True)).to_be_visible(timeout=PATIENCE)
    for act in ("Disable here", "Delete", "New agent"):
        expect(me.page.get_by_role("button", name=act, exact=True)).to_have_count(0)
    me.page.get_by_role("tab", name="agent.yaml").click()
    expect(me.page.get_by_text("Changing agents needs full access to this workspace.")).to_be_visible(timeout=PATIENCE)
    expect(editor(me.page)).not_to_be_editable()
    me.page.get_by_role("tab", name="What the model gets").click()
    expect(me.page.get_by_role("tabpanel").get_by_role("alert")).to_be_visible(timeout=PATIENCE)
