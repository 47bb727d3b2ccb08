"""`manage.py skills test <id>`: the cases in a skill's tests.yaml, with a model that follows them (docs/skills.md)."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.agents import load_agent
from agents_app.file_cache import read_text
from agents_app.skill_tests.cases import FILE, Case, CasesError, parse
from agents_app.skill_tests.play import Played, play
from agents_app.skills import Skill, find_skill
from halo_site.lib.errors import HaloError
from halo_site.lib.yaml_files import MAX_BYTES


class Command(BaseCommand):
    help = "Try a skill: its tests.yaml, played in an empty folder with the real tools and without a model"

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        test = verbs.add_parser("test", help="play the cases of a skill; exit 1 when one differs")
        test.add_argument("skill", help="id of the skill")
        test.add_argument("-w", "--workspace", metavar="PATH", help="folder whose skills count too (default: this one)")
        test.add_argument(
            "-a", "--agent", metavar="ID", default="default", help="whose tools it has (default: `default`)"
        )
        test.add_argument("--show", action="store_true", help="what the model was told, for each case")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(options["workspace"] or os.getcwd()).resolve()
        if not folder.is_dir():
            raise CommandError(f"Workspace does not exist: {options['workspace']}")
        try:
            skill = find_skill(folder, options["skill"])
            agent = load_agent(folder, options["agent"])
            cases = _cases(skill, folder)
        except (HaloError, CasesError) as error:
            raise CommandError(str(error)) from error
        failed = 0
        for case in cases:
            played = asyncio.run(play(skill, agent, case))
            failed += bool(played.problems)
            self._say(case, played, show=options["show"])
        self.stdout.write(f"{len(cases)} tests, {failed} failed")
        if failed:
            sys.exit(1)

    def _say(self, case: Case, played: Played, *, show: bool) -> None:
        self.stdout.write(f"{'FAIL' if played.problems else 'ok  '} {case.name}")
        for problem in played.problems:
            self.stdout.write(f"     {problem}")
        for text in played.told if show else ():
            self.stdout.write("     | " + text.replace("\n", "\n     | "))


def _cases(skill: Skill, workspace: Path) -> tuple[Case, ...]:
    """Raises CasesError."""
    base = workspace if skill.scope == "workspace" else skill.folder.parent
    file = f"{skill.folder.relative_to(base)}/{FILE}"
    found = read_text(base, file, trusted=skill.scope == "global", limit=MAX_BYTES)
    if found is None:
        raise CasesError(f"{skill.folder / FILE} is not there: write the cases to try into it")
    try:
        return parse(found.text)
    except CasesError as error:
        raise CasesError(f"{skill.folder / FILE}: {error}") from error
