"""Every rule of the manifest, broken once (spec canvas-extensions 2.2, 7.27; CASES C58). Pure."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions_app.manifest import BadManifest, Manifest, is_older, is_served, parse

from .zips import manifest


def read(folder: str | None = "mol-view", files: tuple[str, ...] = ("index.html",), **changes) -> Manifest:
    return parse(manifest(**changes), folder, files.__contains__)


def test_a_plain_manifest_is_read_with_its_defaults():
    assert read() == Manifest("mol-view", "Molecule viewer", "1.2.0", (".mol", ".pdb"), "index.html")


def test_everything_that_may_be_said_is_kept():
    said = {"priority": "option", "capabilities": ["save"], "description": "d", "license": "MIT"}
    found = read(homepage="https://example.org/x", **said)
    assert (found.priority, found.capabilities, found.homepage) == ("option", ("save",), "https://example.org/x")
    assert (found.description, found.license) == ("d", "MIT")


def test_C58_unknown_fields_and_a_byte_order_mark_do_no_harm():
    data = b"\xef\xbb\xbf" + manifest(keepAlive=True)
    assert parse(data, "mol-view", lambda _: True).id == "mol-view"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": ...}, "id must match"),
        ({"id": "../x"}, "id must match"),
        ({"id": "GLB"}, "id must match"),
        ({"id": ""}, "id must match"),
        ({"id": "a" * 65}, "id must match"),
        ({"id": "mol-view\n"}, "id must match"),
        ({"id": 7}, "id must match"),
        ({"id": "other"}, 'id mismatch: manifest says "other"'),
        ({"name": ...}, "name must be"),
        ({"name": ""}, "name must be"),
        ({"name": "   "}, "name must be"),
        ({"name": "n" * 65}, "name must be"),
        ({"name": "a\u202eb"}, "name must be"),
        ({"version": "1.0"}, "version must be"),
        ({"version": "v1.0.0"}, "version must be"),
        ({"version": "1.0.0/x"}, "version must be"),
        ({"version": "1.0.0-"}, "version must be"),
        ({"version": 1}, "version must be"),
        ({"extensions": "glb"}, "extensions must be a list"),
        ({"extensions": []}, "extensions must be a list"),
        ({"extensions": ["glb"]}, "extensions"),
        ({"extensions": [".GLB"]}, "extensions"),
        ({"extensions": [".tar.gz"]}, "extensions"),
        ({"extensions": [5]}, "extensions"),
        ({"entry": ...}, "entry must be"),
        ({"entry": "../index.html"}, "entry must be"),
        ({"entry": "/index.html"}, "entry must be"),
        ({"entry": "a//index.html"}, "entry must be"),
        ({"entry": "a\\index.html"}, "entry must be"),
        ({"entry": ".hidden/index.html"}, "entry must be"),
        ({"entry": "viewer.js"}, "entry must be"),
        ({"entry": "none.html"}, "entry does not exist: none.html"),
        ({"priority": "first"}, "priority must be"),
        ({"priority": ["default"]}, "priority must be"),
        ({"capabilities": "save"}, "capabilities must be a list"),
        ({"capabilities": ["save", "network"]}, 'capabilities: "network" is unknown'),
        ({"capabilities": [["save"]]}, "capabilities"),
        ({"description": "d" * 201}, "description must be"),
        ({"homepage": "javascript:alert(1)"}, "homepage must begin with"),
        ({"homepage": "https://a b"}, "homepage must begin with"),
        ({"license": {"type": "MIT"}}, "license must be"),
    ],
)
def test_C58_a_manifest_that_breaks_a_rule_says_which(changes, reason):
    with pytest.raises(BadManifest) as caught:
        read(**changes)
    assert str(caught.value).startswith(reason)


def test_C58_versions_are_ordered_as_people_read_them():
    rising = "0.9.9 0.10.0 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.2.0"
    versions = [*rising.split(), "1.10.0", "2.0.0-1", "2.0.0-a-b", "2.0.0"]
    for place, version in enumerate(versions):
        assert [is_older(other, version) for other in versions] == [at < place for at in range(len(versions))]


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff\xfe", b'{"a":' * 2000, b" " * 3_000_000])
def test_C58_what_is_no_object_is_refused(data):
    with pytest.raises(BadManifest):
        parse(data, "mol-view", lambda _: True)


def test_before_it_moves_in_a_folder_may_have_any_name():
    assert read(folder=None).id == "mol-view"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    ["id", "name", "version", "extensions", "entry", "priority", "capabilities", "description", "homepage", "license"]
)


@given(st.dictionaries(fields, json_values))
def test_any_values_give_a_manifest_or_a_reason(changes):
    try:
        found = parse(
            json.dumps(json.loads(manifest()) | changes).encode("utf-8", "surrogatepass"), None, lambda _: True
        )
    except BadManifest as error:
        assert str(error)  # noqa: PT017 - both ways are right
    else:
        assert is_served(found.entry)


@given(st.text(st.sampled_from("ab./\\\0"), max_size=12))
def test_a_path_that_is_served_has_only_plain_parts(path):
    if is_served(path):
        assert all(part and part[0] != "." for part in path.split("/"))
        assert not set(path) & {"\\", "\0"}
