"""How long the prompt of an agent with 50 skills takes."""

import json
import time
from pathlib import Path
from typing import Any

from .alone import begin
from .numbers import summary

SKILLS = 50
ROUNDS = 200
HEADER = "---\nname: skill-{n}\ndescription: Use for task {n}. Triggers on: review, check\n---\n"


def make(home: Path, workspace: Path) -> None:
    """Half of the skills in the home, half in the workspace, with bodies of 8 KB."""
    for n in range(SKILLS):
        base = home / "global" if n % 2 else workspace / ".halo"
        folder = base / "skills" / f"skill-{n}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(HEADER.format(n=n) + "A line of instructions.\n" * 340)
    agent = workspace / ".halo" / "agents" / "bench"
    agent.mkdir(parents=True)
    skills = ", ".join(f"skill-{n}" for n in range(SKILLS))
    (agent / "agent.yaml").write_text(
        "model: {provider: demo, id: demo, endpoint: 'demo://local'}\n"
        f"tools: [file_read, grep, glob]\nteam: [default, executor]\nskills: [{skills}]\n"
    )
    (agent / "AGENT.md").write_text("You are {{agent_name}}.\n" * 40)
    (workspace / ".halo" / "INSTRUCTIONS.md").write_text("- a rule\n" * 100)
    (workspace / ".halo" / "INDEX.md").write_text("- a place\n" * 200)


def main(home: Path) -> dict[str, Any]:
    from agents_app.agents import load_agent
    from agents_app.outfit import material
    from agents_app.seed import seed_home
    from halo_site.lib.access_level import Access

    workspace = home / "work"
    seed_home(home)
    make(home, workspace)

    def build() -> int:
        agent = load_agent(workspace, "bench")
        return len(material(agent, workspace, level=Access.FULL, is_root=True).outfit().prompt.text)

    began = time.perf_counter()
    size = build()
    first = (time.perf_counter() - began) * 1000
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        build()
        times.append((time.process_time() - began) * 1000)
    return {"characters": size, "first_ms": round(first, 1), "cpu_ms": summary(times)}


if __name__ == "__main__":
    print(json.dumps(main(begin())))
