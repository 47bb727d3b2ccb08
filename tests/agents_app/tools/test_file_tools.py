"""file_list, file_read, file_write, file_edit (spec tools 3.3 to 3.7)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents_app.tools.contract import ERROR, WARN
from halo_site.lib.access_level import Access


async def test_lines_come_numbered_and_the_rest_is_announced(call, workspace):
    (workspace / "f.txt").write_text("".join(f"line {i}\n" for i in range(1, 13)))
    whole = await call("file_read", path="f.txt")
    assert whole.text.splitlines()[0] == " 1\tline 1"
    assert whole.text.splitlines()[-1] == "12\tline 12"
    part = await call("file_read", path="f.txt", offset=3, limit=2)
    assert part.text == "3\tline 3\n4\tline 4\n... 8 more line(s) — use `offset=5` to continue."
    past = await call("file_read", path="f.txt", offset=99)
    assert past.text == "(empty: file has 12 lines, offset=99 is past end)"


async def test_a_large_file_is_read_by_range_only(call, workspace):
    (workspace / "big").write_text("x" * 99 + "\n", "utf-8")
    with open(workspace / "big", "a") as file:
        file.writelines("x" * 99 + "\n" for _ in range(31_000))
    refused = await call("file_read", path="big")
    assert refused.text.startswith(WARN)
    assert "MiB" in refused.text
    part = await call("file_read", path="big", offset=30_999, limit=2)
    assert part.text.startswith("30999\txxx")
    assert "... 1 more line(s)" in part.text


async def test_one_endless_line_costs_little_and_is_cut_visibly(call, workspace):
    with open(workspace / "line", "wb") as file:
        for _ in range(30):
            file.write(b"x" * 1_000_000)
    result = await call("file_read", path="line", limit=5)
    assert "[line cut after 262144 bytes]" in result.text
    assert len(result.text) < 300_000


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "(empty file)"),
        (b"\x7fELF\0\0", "binary"),
        (b"\xff\xfe bad", "\ufffd\ufffd bad"),
        (b"a\r\nb", "1\ta\r\n2\tb"),
    ],
)
async def test_odd_contents_are_told_as_they_are(call, workspace, content, said):
    (workspace / "odd").write_bytes(content)
    assert said in (await call("file_read", path="odd")).text


async def test_a_missing_file_and_a_folder_are_errors_with_the_reason(call, workspace):
    (workspace / "folder").mkdir()
    assert (await call("file_read", path="gone.txt")).text == f"{ERROR}No such file or directory: gone.txt"
    assert (await call("file_read", path="folder")).text == f"{ERROR}folder is a directory"


async def test_a_write_makes_its_folders_and_overwrites(call, workspace):
    assert (await call("file_write", path="a/b/c.txt", content="1")).text == "File written: a/b/c.txt"
    await call("file_write", path="a/b/c.txt", content="2 ü\n")
    assert (workspace / "a/b/c.txt").read_text() == "2 ü\n"


async def test_an_edit_is_literal(call, workspace):
    (workspace / "f").write_text("price: OLD\n")
    await call("file_edit", path="f", old_string="OLD", new_string=r"$& $1 \1 \n {x}")
    assert (workspace / "f").read_text() == "price: " + r"$& $1 \1 \n {x}" + "\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"old_string": "", "new_string": "x"}, "empty"),
        ({"old_string": "a", "new_string": "a"}, "identical"),
        ({"old_string": "nowhere", "new_string": "x"}, "Read the file again"),
        ({"old_string": "a", "new_string": "x"}, "occurs 3 times"),
    ],
)
async def test_an_edit_that_is_not_clear_is_refused_and_changes_nothing(call, workspace, arguments, said):
    (workspace / "f").write_text("a a a")
    result = await call("file_edit", path="f", **arguments)
    assert result.text.startswith(WARN)
    assert said in result.text
    assert (workspace / "f").read_text() == "a a a"


async def test_replace_all_replaces_all(call, workspace):
    (workspace / "f").write_text("a a a")
    await call("file_edit", path="f", old_string="a", new_string="b", replace_all=True)
    assert (workspace / "f").read_text() == "b b b"


async def test_an_agent_learns_that_a_file_changed_since_it_read_it(call, workspace):
    file = workspace / "f"
    file.write_text("one two")
    await call("file_read", path="f")
    file.write_text("one two three")
    assert "changed on disk" in (await call("file_edit", path="f", old_string="one", new_string="1")).text
    assert "changed" not in (await call("file_edit", path="f", old_string="two", new_string="2")).text
    file.write_text("somebody else's")
    assert "overwritten" in (await call("file_write", path="f", content="x")).text
    assert "overwritten" not in (await call("file_write", path="f", content="y")).text


def rewrite_unseen(file, text):
    """The same file, size and time: only what it holds is another."""
    before = file.stat()
    with file.open("r+") as handle:
        handle.write(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_ino, file.stat().st_size) == (before.st_ino, before.st_size)


async def test_C64_an_agent_notices_a_change_in_place_whose_time_was_set_back(call, workspace):
    file = workspace / "f"
    file.write_text("one two")
    await call("file_read", path="f")
    rewrite_unseen(file, "one six")
    assert "changed on disk" in (await call("file_edit", path="f", old_string="one", new_string="1")).text
    rewrite_unseen(file, "9 six")
    assert "overwritten" in (await call("file_write", path="f", content="x")).text
    rewrite_unseen(file, "y")
    assert "changed on disk" in (await call("file_edit", path="f", old_string="y", new_string="z")).text


async def test_C64_a_touch_without_a_change_is_no_news_to_an_agent(call, workspace):
    (workspace / "f").write_text("one")
    await call("file_read", path="f")
    os.utime(workspace / "f", (1, 1))
    assert "changed" not in (await call("file_edit", path="f", old_string="one", new_string="1")).text


async def test_a_list_is_sorted_and_leaves_out_what_nobody_wants(call, workspace):
    for name in ("b", "a", ".git", "node_modules"):
        (workspace / name).mkdir()
    (workspace / "a" / "x.txt").touch()
    (workspace / "c.txt").touch()
    os.symlink(".", workspace / "circle")
    assert (await call("file_list")).text == "📁 a\n📁 b\n📄 c.txt\n📁 circle"
    assert (await call("file_list", recursive=True)).text == "📁 a/\n📄 a/x.txt\n📁 b/\n📄 c.txt\n📄 circle"


async def test_a_long_recursive_list_is_cut_visibly(call, workspace):
    for i in range(510):
        (workspace / f"{i:03}").touch()
    lines = (await call("file_list", recursive=True)).text.splitlines()
    assert len(lines) == 501
    assert lines[-1].startswith("[truncated")


async def test_lower_levels_stay_in_the_workspace(call, workspace, tmp_path):
    (tmp_path / "private").write_text("canary")
    os.symlink(tmp_path / "private", workspace / "link")
    for level in (Access.READONLY, Access.WORKSPACE):
        for path in ("link", "../private", str(tmp_path / "private"), "~/.ssh/id_rsa"):
            result = await call("file_read", level=level, path=path)
            assert result.text.startswith(WARN), path
            assert "canary" not in result.text
    assert "canary" in (await call("file_read", path="link")).text


async def test_readonly_sessions_write_nothing(call, workspace):
    for name, arguments in (("file_write", {"content": "x"}), ("file_edit", {"old_string": "a", "new_string": "b"})):
        result = await call(name, level=Access.READONLY, path="f", **arguments)
        assert result.text.startswith(f"{WARN}Access denied")
    assert list(workspace.iterdir()) == []


async def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(workspace, home):
    (workspace / "f").write_text("old")
    program = (
        "import os, sys; os.environ['HALO_CRASH_AT'] = 'file.temp_written'\n"
        "from pathlib import Path; from workspaces_app.jail import Jail\n"
        "Jail(Path(sys.argv[1])).write('f', b'new')"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(workspace)], check=False, cwd=Path.cwd())
    assert killed.returncode == -9
    assert (workspace / "f").read_text() == "old"
