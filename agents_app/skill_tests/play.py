"""Plays one case: the skill in an empty folder, the real tools, and a model that does what the case says."""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..agents import Agent
from ..commands import Here, Refused, RunSkill, meaning
from ..outfit import Outfit, material
from ..providers.script import Called
from ..skills import Skill, list_skills
from ..tools.activate_skill import TOOL as ACTIVATE
from ..tools.contract import ERROR, WARN, ToolContext, failed
from ..tools.run import run_tool
from .cases import Case, Reply, differences

TIME = 60.0  # seconds for one case
_LEFT_OUT = frozenset({"relay_send"})  # needs a session


@dataclass(slots=True)
class Played:
    """told: what the model was given, the message first. problems: what is not as expected; none = it passed."""

    told: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


async def play(skill: Skill, agent: Agent, case: Case) -> Played:
    """agent: whose tools it has. Its own skills, team and MCP servers are left out."""
    config = agent.config.model_copy(
        update={
            "skills": (skill.id,),
            "tools": tuple(name for name in agent.config.tools if name not in _LEFT_OUT),
            "team": (),
            "mcp": (),
        }
    )
    with tempfile.TemporaryDirectory(prefix="halo-skill-test-", ignore_cleanup_errors=True) as made:
        folder = await asyncio.to_thread(_prepare, made, skill, case)
        stage = _Stage(folder, replace(agent, config=config), skill.id, case)
        refused = await asyncio.to_thread(stage.begin)
        if not refused:
            try:
                async with asyncio.timeout(TIME):
                    await stage.answer()
            except TimeoutError:
                stage.failures.append(f"it took longer than {TIME:.0f} seconds")
        files = {path: _text(folder / path) for path in case.expect.files}
    problems = differences(case.expect, refused=refused, told=stage.told, failures=stage.failures, files=files)
    return Played(stage.told, problems)


class _Stage:
    def __init__(self, folder: Path, agent: Agent, skill_id: str, case: Case) -> None:
        self.told: list[str] = []
        self.failures: list[str] = []
        self._folder, self._agent, self._skill_id, self._case = folder, agent, skill_id, case
        self._replies = case.model
        self._worn: Outfit
        self._places: Mapping[str, str]

    def begin(self) -> str:
        """The message as the model gets it; why there is none, in the words of `Expected.refused`."""
        case = self._case
        skills = list_skills(self._folder)
        serving = next(each for each in skills if each.id == self._skill_id and not each.overridden)
        self._worn = material(self._agent, self._folder, level=case.level, is_root=True).outfit()
        self._places = {"{{skill_dir}}": str(serving.folder), "{{workspace_root}}": str(self._folder)}
        if serving.file.error:
            return "load_failed"
        if not case.prompt.startswith("/"):
            if serving.id not in {each.id for each in self._worn.skills}:
                return "not_offered"
            self.told.append(case.prompt)
            activation = Called(name=ACTIVATE.name, input={"skill_id": serving.id})
            self._replies = (Reply(calls=(activation,)), *case.model)
            return ""
        match meaning(case.prompt, Here(skills, frozenset({serving.id}), case.level)):
            case RunSkill(skill=asked) as typed if asked.id == serving.id:
                self.told.append(typed.text(dict(self._worn.prompt.values)))
                return ""
            case Refused(reason=reason):
                return reason
        return "no_command"

    async def answer(self) -> None:
        for reply in self._replies:
            for call in reply.calls:
                await self._call(call)

    async def _call(self, call: Called) -> None:
        tool = self._worn.tools.get(call.name)
        if tool is None:
            result = failed(f"there is no tool {call.name} at {self._case.level} access")
        else:
            context = ToolContext(
                workspace=self._folder,
                session_id="skill-test",
                agent_id=self._agent.id,
                level=self._case.level,
                abort=asyncio.Event(),
                shell_timeout=TIME,
                skills=(self._skill_id,),
                placeholders=self._worn.prompt.values,
            )
            result = await run_tool(tool, self._filled(call.input), context)
        self.told.append(result.text)
        if result.text.startswith((ERROR, WARN)):
            self.failures.append(f"{call.name}: {result.text.partition(chr(10))[2]}")

    def _filled(self, value: Any) -> Any:
        """The two places of a test put into the arguments of a call."""
        if isinstance(value, dict):
            return {key: self._filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if isinstance(value, str):
            for name, place in self._places.items():
                value = value.replace(name, place)
        return value


def _prepare(made: str, skill: Skill, case: Case) -> Path:
    folder = Path(made).resolve()
    (folder / ".halo").mkdir()
    if skill.scope == "workspace":
        shutil.copytree(skill.folder, folder / ".halo" / "skills" / skill.id, symlinks=True)
    for path, text in case.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
