"""grep and glob (spec tools 3.10, SECURITY-BAR S5 and L6)."""

import asyncio
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents_app.tools.contract import ERROR, WARN
from agents_app.tools.grep import split_include
from halo_site.lib.access_level import Access


@pytest.fixture
def tree(workspace):
    files = {
        "src/a.py": "import os\n# TODO: one\n",
        "src/deep/b.ts": "// TODO two\n",
        "a b/ü x:1.tsx": "TODO three\n",
        "top.md": "nothing\n",
        ".env": "TODO hidden files count\n",
        "node_modules/m.js": "TODO never\n",
        ".git/x": "TODO never\n",
        ".halo/tmp/x": "TODO never\n",
        "dist/x.js": "TODO never\n",
    }
    for name, content in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(content)
    (workspace / "binary").write_bytes(b"TODO\0TODO\n" * 10)
    (workspace / ".gitignore").write_text("src\n")
    os.symlink(".", workspace / "circle")
    return workspace


async def test_matches_come_as_path_line_and_text(call, tree):
    result = await call("grep", pattern="TODO")
    assert result.text.splitlines() == [
        ".env:1:TODO hidden files count",
        "a b/ü x:1.tsx:1:TODO three",
        "src/a.py:2:# TODO: one",
        "src/deep/b.ts:1:// TODO two",
    ]


async def test_a_path_and_an_include_narrow_the_search(call, tree):
    assert (await call("grep", pattern="TODO", path="src")).text.count("TODO") == 2
    assert (await call("grep", pattern="TODO", path="src/a.py")).text == "src/a.py:2:# TODO: one"
    assert (await call("grep", pattern="TODO", include="*.{ts,tsx}")).text.count("TODO") == 2
    assert (await call("grep", pattern="TODO", include="*.py, *.ts")).text.count("TODO") == 2
    assert (await call("grep", pattern="todo", include="*.PY")).text.startswith("No matches")


def test_an_include_list_is_cut_at_top_level_commas_only():
    assert split_include("*.{a,b},*.c, d") == ["*.{a,b}", "*.c", "d"]


async def test_the_number_of_results_is_capped_visibly(call, workspace):
    (workspace / "f").write_text("x\n" * 200)
    lines = (await call("grep", pattern="x")).text.splitlines()
    assert len(lines) == 51
    assert lines[-1].startswith("[truncated")
    assert len((await call("grep", pattern="x", max_results=3)).text.splitlines()) == 4


async def test_nothing_found_and_bad_patterns_say_so(call, tree):
    assert (await call("grep", pattern="zebra")).text == 'No matches found for pattern "zebra"'
    bad = await call("grep", pattern="(")
    assert bad.text.startswith(f"{WARN}Error: Invalid regex pattern: ")
    assert (await call("grep", pattern="x", path="gone")).text.startswith(ERROR)
    assert (await call("glob", pattern="*.zebra")).text.startswith("No files found")
    assert 'use "src/**"' in (await call("glob", pattern="src")).text


@pytest.mark.parametrize(
    "hostile",
    [
        "-e",
        "--",
        "-",
        "--pre=touch pwned",
        "--pre=./evil.sh",
        "--output=x",
        "-f/etc/passwd",
        "--hidden",
        "!x",
        "-g*",
        "--config=x",
    ],
)
async def test_S5_strings_that_look_like_options_are_data(call, tree, hostile):
    before = sorted(os.listdir(tree))
    for name, arguments in (
        ("grep", {"pattern": hostile}),
        ("grep", {"pattern": "TODO", "path": hostile}),
        ("grep", {"pattern": "TODO", "include": hostile}),
        ("glob", {"pattern": hostile}),
        ("glob", {"pattern": "*", "path": hostile}),
    ):
        result = await call(name, **arguments)
        assert "root:" not in result.text
        assert "Traceback" not in result.text
    assert sorted(os.listdir(tree)) == before


async def test_S5_a_pattern_that_starts_with_a_dash_finds_its_text(call, workspace):
    (workspace / "-f.txt").write_text("use --pre=x here\n")
    assert (await call("grep", pattern="--pre=x")).text == "-f.txt:1:use --pre=x here"
    assert (await call("grep", pattern="pre", path="-f.txt")).text == "-f.txt:1:use --pre=x here"
    assert (await call("glob", pattern="-f.*")).text == "-f.txt"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.text(max_size=12), st.text(max_size=8))
def test_S5_any_pattern_is_answered_with_text(call, tree, pattern, include):
    result = asyncio.run(call("grep", pattern=pattern, include=include))
    assert result.text
    assert not result.text.startswith(f"{ERROR}grep failed")
    assert not asyncio.run(call("glob", pattern=pattern)).text.startswith(f"{ERROR}glob failed")


async def test_L6_a_regex_that_would_explode_elsewhere_is_quick(call, workspace):
    (workspace / "f").write_text("a" * 50_000 + "!\n")
    async with asyncio.timeout(60):  # elsewhere it would take longer than the world has been there
        assert (await call("grep", pattern="(a+)+$|(a|aa)+b")).text.startswith("No matches")
        assert (await call("glob", pattern="*a" * 40 + "*b")).text.startswith("No files")


async def test_L5_a_line_of_a_megabyte_is_shown_cut(call, workspace):
    (workspace / "min.js").write_text("x" * 1_000_000 + "TODO\n")
    result = await call("grep", pattern="x{5}")
    assert len(result.text) < 5_000


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.py", ["src/a.py"]),
        ("*.md", ["top.md"]),
        ("*.py", []),
        ("src/**", ["src/a.py", "src/deep/b.ts"]),
        ("**/*.{ts,tsx}", ["a b/ü x:1.tsx", "src/deep/b.ts"]),
        ("src/*", ["src/a.py"]),
        ("./src/a.py", ["src/a.py"]),
        (".env", [".env"]),
        ("**/node_modules/**", []),
    ],
)
async def test_glob_patterns_mean_what_the_page_says(call, tree, pattern, found):
    text = (await call("glob", pattern=pattern)).text
    assert ([] if text.startswith("No files") else text.splitlines()) == found


async def test_a_glob_below_a_path_still_counts_from_the_root(call, tree):
    assert (await call("glob", pattern="src/**/*.ts", path="src/deep")).text == "src/deep/b.ts"
    assert (await call("glob", pattern="*.ts", path="src/deep")).text.startswith("No files")
    assert (await call("glob", pattern=f"{tree}/src/*.py")).text == "src/a.py"


async def test_what_git_ignores_is_left_out_on_request(call, tree):
    (tree / "src/deep/.gitignore").write_text("!b.ts\n")
    (tree / ".gitignore").write_text("*.py\nb.ts\n.env\n")
    (tree / ".ignore").write_text("*.tsx\n")  # not git's
    found = (await call("grep", pattern="TODO", respect_gitignore=True)).text
    assert [line.partition(":")[0] for line in found.splitlines()] == ["a b/ü x", "src/deep/b.ts"]
    found = (await call("glob", pattern="**/*.{py,ts}", respect_gitignore=True)).text
    assert found == "src/deep/b.ts", "also where the pattern itself names what is ignored"
    assert (await call("grep", pattern="TODO", include="*.py", respect_gitignore=True)).text.startswith("No matches")
    assert (await call("glob", pattern="**/*.py")).text == "src/a.py"


async def test_gitignore_brings_back_nothing_that_is_skipped_or_hidden(call, tree):
    (tree / ".gitignore").write_text("!node_modules\n!.halo\n!.git\n")
    found = (await call("grep", pattern="TODO never", respect_gitignore=True)).text
    assert found.startswith("No matches")


async def test_X15_searching_works_in_a_folder_with_spaces_and_umlauts(call, tree):
    assert " " in str(tree)
    assert (await call("glob", pattern="a b/*")).text == "a b/ü x:1.tsx"


async def test_lower_levels_search_the_workspace_only(call, tree, tmp_path):
    (tmp_path / "private.txt").write_text("canary TODO")
    os.symlink(tmp_path, tree / "way out")
    for level in (Access.READONLY, Access.WORKSPACE):
        for path in ("way out", "..", str(tmp_path)):
            for name, pattern in (("grep", "canary"), ("glob", "**/private*")):
                result = await call(name, level=level, pattern=pattern, path=path)
                assert result.text.startswith(WARN)
        assert "canary" not in (await call("grep", level=level, pattern="canary")).text.replace('"canary"', "")
    assert "canary TODO" in (await call("grep", pattern="canary", path=str(tmp_path / "private.txt"))).text


async def test_masked_folders_cannot_be_searched_below_full_access(call, tree):
    (tree / ".halo/sessions").mkdir()
    (tree / ".halo/sessions/x.jsonl").write_text("canary")
    assert (await call("grep", level=Access.WORKSPACE, pattern="canary", path=".halo/sessions")).text.startswith(WARN)
    result = await call("grep", level=Access.WORKSPACE, pattern="canary", path=".halo")
    assert "x.jsonl" not in result.text


async def test_a_cancelled_search_ends_at_once(context, call, tree):
    ctx = context()
    ctx.abort.set()
    assert (await call("grep", ctx=ctx, pattern="TODO")).text.startswith(WARN)
