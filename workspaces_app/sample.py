"""A small project to try things on, made on request in the home folder. Existing files are never touched."""

from pathlib import Path

FOLDER = "sample"

FILES = {
    "README.md": """# Sample project

A small folder to try Halo on. Ask the agent, for example:

- "What is in this folder?"
- "Which month had the most visitors?"
- "Add a test for `greet` and run it."

Nothing here matters: change it, break it, delete it.
""",
    "visitors.csv": """month,visitors,returning
2026-01,1204,310
2026-02,1187,342
2026-03,1630,401
2026-04,1512,455
2026-05,1898,520
2026-06,1745,561
""",
    "greet.py": '''"""Says hello, politely."""


def greet(name: str, hour: int) -> str:
    """A greeting that fits the hour (0 to 23)."""
    if hour < 12:
        return f"Good morning, {name}"
    if hour < 18:
        return f"Good afternoon, {name}"
    return f"Good evening, {name}"


if __name__ == "__main__":
    print(greet("world", 9))
''',
    "notes/ideas.md": """# Ideas

- [ ] greet in more than one language
- [ ] a chart of the visitors
- [x] write this list
""",
}


def make_sample(home: Path) -> Path:
    """The folder's path. Raises OSError when it cannot be written."""
    root = home / FOLDER
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
    return root
