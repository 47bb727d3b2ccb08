"""The goal above the message box, and a worker that takes only commands while the goal leads (spec spa 85)."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from .chat_parts import Chat, plan
from .conftest import Opener, Start
from .parts import PATIENCE, ROOT, Halo, Models
from .test_accessibility import serious
from .test_phone import PHONE, scrolls_sideways

GOAL_AGENT = """
name: Goal
model: {{provider: openai, id: fake, endpoint: "{address}/v1"}}
tools: [goal_context]
"""


@pytest.fixture(scope="module")
def shared_halo(tmp_path_factory: pytest.TempPathFactory, models: Models):
    home = tmp_path_factory.mktemp("goals") / "home"
    server = Halo(home, settings={"HALO_GOAL_MODE": "true"}).start()
    agent = home / "global" / "agents" / "goal"
    agent.mkdir()
    (agent / "agent.yaml").write_text(GOAL_AGENT.format(address=models.address))
    yield server
    server.stop()


def banner(page: Page, name: str = "Goal") -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def begun(chat: Start, models: Models) -> Chat:
    """A goal in intake, on screen; its worker was spoken to before."""
    plan(models, {"text": "Here I am."}, {"text": "What is to be reached?"})
    me = chat().enters().asks("Build the app").sees("Here I am.").finishes()
    me.asks("/goal create ship it").sees("What is to be reached?").finishes()
    return me


def test_a_goal_is_followed_from_its_intake_to_its_end_and_put_away(chat: Start, models: Models):
    me = begun(chat, models)
    expect(banner(me.page)).to_contain_text("Goal is being agreed on")
    me.page.keyboard.press("Control+b")
    worker = me.page.locator(".session-open").filter(has=me.page.get_by_role("img", name="Works for a goal"))
    expect(worker).to_have_count(1, timeout=PATIENCE)
    expect(worker).to_contain_text("Build the app")
    assert serious(me.page) == []

    spec = me.folder / ".halo" / "goal" / me.session / "GOAL_SPEC.md"
    spec.write_text("The app is shipped.")
    work = str(worker.get_attribute("data-session"))
    order = {"target_session_id": work, "message": "Ship it."}
    plan(
        models,
        {"tool_calls": [{"name": "goal_attach", "arguments": {"max_rounds": 1}}]},
        {"tool_calls": [{"name": "query_session", "arguments": order}]},
    )
    me.asks("Agreed")
    expect(banner(me.page)).to_contain_text("Goal halted · round 1 of 1", timeout=PATIENCE)
    expect(me.page.get_by_role("img", name="Works for a goal")).to_have_count(0, timeout=PATIENCE)
    me.page.reload()
    expect(banner(me.page)).to_contain_text("Goal halted · round 1 of 1", timeout=PATIENCE)
    me.person.keeps_a_picture(ROOT / "test-results" / "goal-banner.png")

    banner(me.page).get_by_role("button", name="Worker").click()
    expect(me.page.get_by_role("tab", name="Build the app")).to_have_attribute("aria-selected", "true")
    me.asks("Are you free?").finishes()
    assert me.session == work
    banner(me.page).get_by_role("button", name="Put away").click()
    expect(banner(me.page)).to_have_count(0)
    me.page.reload()
    expect(me.message("Are you free?")).to_be_visible(timeout=PATIENCE)
    expect(banner(me.page)).to_have_count(0)


def test_a_worker_takes_commands_only_while_its_goal_leads(chat: Start, models: Models):
    me = begun(chat, models)
    banner(me.page).get_by_role("button", name="Worker").click()
    composer = me.person.composer
    expect(composer).to_have_attribute(
        "placeholder", "The goal leads this session. Commands work: /goal pause frees it."
    )
    before = me.wire.chats()
    composer.fill("/")
    expect(me.page.get_by_text("talk to the goal")).to_have_count(0)
    me.asks("Do something else")
    expect(me.page.get_by_text("The goal leads this session: talk to the goal")).to_be_visible(timeout=PATIENCE)
    expect(composer).to_have_value("Do something else")
    expect(me.page.get_by_role("button", name="Send (Enter)")).to_be_disabled()
    me.page.locator(".chat-user", has_text="Build the app").hover()
    me.page.get_by_role("button", name="Ask again").first.click()
    expect(me.page.get_by_role("alert").get_by_text("The goal leads this session")).to_be_visible(timeout=PATIENCE)
    assert me.wire.chats() == before

    me.asks("/goal clear")
    expect(banner(me.page)).to_have_count(0, timeout=PATIENCE)
    expect(composer).to_have_attribute("placeholder", "Ask Default, or type / for commands")
    plan(models, {"text": "Gladly."})
    me.asks("Do something else").sees("Gladly.")


GOAL = """
from django.contrib.auth.models import User
from django.utils import timezone
from sessions_app.goals.state import Goal
from sessions_app.models import Session
from workspaces_app.models import Workspace
now = timezone.now()
rest = dict(workspace=Workspace.objects.get(path={folder!r}), agent_id="goal", agent_name="Goal",
    created_by=User.objects.get(username="admin"), created_at=now, updated_at=now)
state = Goal("goal_x", "sid_work", "paused", 0, round=3)
goal = Session.objects.create(sid="goal_x", title="🎯 Goal", goal=state.stored(), **rest)
Session.objects.create(sid="sid_work", title="Work", goal_session=goal, **rest)
"""


def test_the_banner_fits_a_phone_and_speaks_chinese(shared_halo: Halo, person: Opener, tmp_path: Path):
    me = person(shared_halo, locale="zh-CN", **PHONE).arrives(f"/?folder={tmp_path}")
    me.page.locator("input[type=password]").fill(shared_halo.password)
    me.page.keyboard.press("Enter")
    expect(me.composer).to_be_visible(timeout=PATIENCE)
    shared_halo.runs(GOAL.format(folder=str(tmp_path)))
    me.page.reload()
    goal = banner(me.page, "目标")
    expect(goal).to_contain_text("目标已暂停 · 第 3 轮，共 10 轮", timeout=PATIENCE)
    assert not scrolls_sideways(me.page)
    low = "[...document.querySelectorAll('.goal-bar button')].filter((one) => one.getBoundingClientRect().height < 40)"
    assert me.page.evaluate(f"{low}.length") == 0
    me.keeps_a_picture(ROOT / "test-results" / "goal-banner-phone.png")
    goal.get_by_role("button", name="目标已暂停").click()
    expect(me.page.get_by_role("banner")).to_contain_text("🎯 Goal", timeout=PATIENCE)
    expect(goal.get_by_role("button", name="目标已暂停")).to_have_count(0)
