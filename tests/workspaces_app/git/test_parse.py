"""What git prints is understood whatever names and texts hold (invariants 10, 12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_site.lib.errors import BadRequest
from workspaces_app.git.credentials import Credential, matching, parse_line, split_host, with_credential, without_host
from workspaces_app.git.identity import Person, settings_file
from workspaces_app.git.parse import (
    Change,
    Named,
    is_hash,
    parse_log,
    parse_name_status,
    parse_progress,
    parse_remotes,
    parse_status,
    without_progress,
)
from workspaces_app.git.quiet_settings import loud_settings
from workspaces_app.git.remote_url import check_name, parse_remote, protocol_of, shown, switched

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
letters = st.sampled_from([".M", "M.", "MM", "A.", "AM", "D.", ".D", ".T"])
HASH = "a" * 40


@given(st.lists(st.tuples(letters, names), unique_by=lambda one: one[1]), st.lists(names), st.tuples(names, names))
def test_every_name_comes_through_a_status(changed, untracked, renamed):
    parts = [f"1 {xy} N... 100644 100644 100644 {HASH} {HASH} {name}" for xy, name in changed]
    parts += [f"2 R. N... 100644 100644 100644 {HASH} {HASH} R100 {renamed[0]}", renamed[1]]
    parts += [f"? {name}" for name in untracked]
    status = parse_status("".join(f"{part}\0" for part in parts).encode())
    want = [Change(name, xy[0].replace(".", " "), xy[1].replace(".", " ")) for xy, name in changed]
    want += [Change(renamed[0], "R", " ", renamed[1]), *(Change(name, "?", "?") for name in untracked)]
    assert status.changes == want


@given(st.binary(max_size=300))
def test_no_output_breaks_a_parser(output):
    for parser in (parse_status, parse_log, parse_name_status, parse_remotes):
        parser(output)
    without_progress(output.decode("utf-8", "replace"))


@pytest.mark.parametrize(("xy", "conflict"), [("UU", True), ("AA", True), ("DD", True), ("DU", True), ("AM", False)])
def test_conflicts_are_told_from_changes(xy, conflict):
    assert Change("a", xy[0], xy[1]).conflicted is conflict


def test_the_head_of_a_status():
    lines = ["# branch.oid (initial)", "# branch.head (detached)", "# branch.upstream origin/x", "# branch.ab +3 -12"]
    status = parse_status("".join(f"{line}\0" for line in lines).encode())
    assert (status.head, status.branch, status.upstream, status.ahead, status.behind) == ("", "", "origin/x", 3, 12)


@given(st.lists(st.tuples(texts, st.integers(0, 2**33), texts, texts, texts)))
def test_every_text_comes_through_a_log(commits):
    parts = [f"{HASH}\0aaaa\0{who}\0{at}\0{refs}\0{subject}\0{body}\0" for who, at, refs, subject, body in commits]
    found = parse_log("".join(parts).encode())
    assert [(one.author, one.at, one.refs, one.subject, one.body) for one in found] == [
        (who, at, refs, subject, body.strip()) for who, at, refs, subject, body in commits
    ]


def test_a_path_that_is_named_twice_is_listed_once():
    assert parse_name_status(b"M\0a\0R090\0old\0new\0D\0a\0") == [Named("a", "M"), Named("new", "R", "old")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Writing objects:  40% (2/5)", ("Writing objects", 40)),
        ("remote: Counting objects: 100% (3/3), done.", ("Counting objects", 100)),
        ("fatal: 40% of nothing", None),
        ("To https://x.org/a", None),
    ],
)
def test_progress_is_told_from_words(line, found):
    progress = parse_progress(line)
    assert (progress and (progress.stage, progress.percent)) == found


def test_an_error_is_what_git_said_besides_its_progress():
    said = (
        "Enumerating objects: 3, done.\nWriting objects:  33% (1/3)\rWriting objects: 100% (3/3)\nfatal: no\nhint: x\n"
    )
    assert without_progress(said) == "fatal: no\nhint: x"


@pytest.mark.parametrize("text", ["", "abc", "HEAD", "--all", "a..b", "g" * 40, "١٢٣٤", "a" * 65, "abcd\n"])
def test_only_hex_is_a_hash(text):
    assert not is_hash(text)


# ---- addresses


@pytest.mark.parametrize(
    ("url", "kind", "authority", "user", "port"),
    [
        ("https://github.com/a/b.git", "http", "github.com", "", 443),
        ("https://ann@git.x.org:8443/a", "http", "git.x.org:8443", "ann", 8443),
        ("http://[::1]:3000/a", "http", "[::1]:3000", "", 3000),
        ("ssh://git@x.org:2222/a", "ssh", "x.org:2222", "git", 2222),
        ("git@github.com:a/b.git", "ssh", "github.com", "git", 22),
        ("host:path", "ssh", "host", "", 22),
    ],
)
def test_where_an_address_leads(url, kind, authority, user, port):
    found = parse_remote(url)
    assert (found.kind, found.authority, found.user, found.place.port) == (kind, authority, user, port)


@pytest.mark.parametrize("url", ["/srv/a.git", "./a.git", "../a:b", "file:///srv/a", "my folder/a.git"])
def test_folders_are_remotes_too(url):
    assert (parse_remote(url).kind, parse_remote(url).place) == ("file", None)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c id",
        "fd::3",
        "git://x.org/a",
        "ftp://x.org/a",
        "persistent-https://x/a",
        "-oProxyCommand=id",
        "a\nb",
        "",
        "ssh://-oProxyCommand=id/a",
        "-x@y:z",
        "https://",
        "https://x.org",
        "file://host/a",
        "https://0x7f.1/a",
        "x" * 3000,
    ],
)
def test_S5_addresses_git_would_run_something_for_are_refused(url):
    with pytest.raises(BadRequest):
        parse_remote(url)


@given(
    st.from_regex(r"[a-z]{1,9}(\.[a-z]{2,5}){1,2}", fullmatch=True),
    st.from_regex(r"\w{1,9}/\w{1,9}(\.git)?", fullmatch=True),
)
def test_switching_there_and_back_is_the_same_address(host, path):
    url = f"https://{host}/{path}"
    ssh = switched(url, "ssh")
    assert (ssh, protocol_of(ssh)) == (f"git@{host}:{path}", "ssh")
    assert switched(ssh, "https") == url
    assert switched(url, "https") == url


@pytest.mark.parametrize("url", ["", "/srv/a", "ftp://x/a", "https://x.org:8443/a", "ssh://git@x.org:22/a"])
def test_what_cannot_be_switched_is_refused(url):
    with pytest.raises(BadRequest):
        switched(url, "https" if url.startswith("ssh") else "ssh")


def test_no_password_is_shown():
    assert shown("fatal: 'https://ann:pa:ss@x.org/a' not found") == "fatal: 'https://ann:***@x.org/a' not found"


@pytest.mark.parametrize("name", ["", "-x", "a b", "a..b", "x.lock", "a/.b", "a\n", "a:b", "é" * 101])
def test_odd_names_of_remotes_are_refused(name):
    with pytest.raises(BadRequest):
        check_name(name)


# ---- credentials

secrets = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40)


@given(secrets, secrets, st.sampled_from(["x.org", "x.org:8443", "[::1]:3000"]))
def test_a_credential_comes_back_as_it_was_saved(username, token, host):
    saved = Credential("https", host, username, token)
    assert parse_line(saved.line) == saved
    assert with_credential(with_credential("", saved), saved) == saved.line + "\n"


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs", "Cc", "Zl", "Zp"]))))
def test_lines_that_are_no_credentials_are_kept(lines):
    kept = [line for line in lines if parse_line(line) is None]
    text = "".join(f"{line}\n" for line in kept)
    new = Credential("https", "x.org", "a", "b")
    assert without_host(with_credential(text, new), "x.org").splitlines() == text.splitlines()


def test_a_credential_matches_scheme_host_port_and_user():
    found = [Credential("https", "x.org", "ann", "1"), Credential("https", "x.org:8443", "bob", "2")]
    assert matching(found, parse_remote("https://x.org/a")) is found[0]
    assert matching(found, parse_remote("https://X.ORG/a")) is found[0]
    assert matching(found, parse_remote("https://x.org:8443/a")) is found[1]
    for url in ("http://x.org/a", "https://x.org.evil/a", "https://x.org:1/a", "https://eve@x.org/a", "git@x.org:a"):
        assert matching(found, parse_remote(url)) is None


@pytest.mark.parametrize("host", ["", "x y", "a/b", "ftp://x", "x.org:99999", "u@x.org", "https://"])
def test_odd_hosts_are_refused(host):
    with pytest.raises(BadRequest):
        split_host(host)


# ---- settings


@pytest.mark.parametrize(
    "name",
    [
        "http.proxy",
        "http.https://x.org.proxy",
        "credential.helper",
        "core.sshcommand",
        "core.askpass",
        "url.x.insteadof",
        "remote.o.vcs",
        "remote.o.uploadpack",
        "include.path",
        "includeif.x.path",
        "unheard.of",
        "core.newthing",
    ],
)
def test_S4_a_setting_that_could_lead_a_credential_astray_is_loud(name):
    assert loud_settings(["local", name, "global", "http.proxy", "command", "core.hookspath"]) == [name]


def test_what_git_lfs_and_husky_write_is_quiet():
    quiet = "core.hookspath core.bare remote.o.url branch.a.b.merge filter.lfs.process lfs.url user.name pull.rebase"
    assert loud_settings([part for name in quiet.split() for part in ("local", name)]) == []


def test_a_name_cannot_bring_settings_of_its_own():
    person = Person('x"\n[core]\n\tsshCommand = id\\', "a\tb", is_author=True)
    text = settings_file({}, person)
    assert '\tname = "x\\"\\n[core]\\n\\tsshCommand = id\\\\"' in text
    assert "\n[core]" not in text
