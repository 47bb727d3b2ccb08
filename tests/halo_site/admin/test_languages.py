"""The staff site in the reader's language; and that no text of ours lacks its Chinese."""

import ast
import gettext
import re
from collections.abc import Iterator

import pytest
from django.conf import settings

import halo_site.urls  # noqa: F401 - finds the pages
from halo_site.admin.labels import our_fields, our_models
from halo_site.lib import settings_write
from sessions_app.transcript import OUTCOMES
from tests.accounts import Browser
from tests.homes import own_home
from tests.server import ROOT
from workspaces_app.models import UserPrefs

FOLDER = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES"
SOURCES = [
    *(ROOT / "halo_site" / "admin").rglob("*.py"),
    *(ROOT / "halo_site").glob("staff_*.py"),
    *(ROOT / app / name for app in ("sessions_app", "workspaces_app") for name in ("admin.py", "staff_state.py")),
    ROOT / "extensions_app" / "admin.py",
    *(ROOT / "relay_app" / name for name in ("admin.py", "graph.py")),
]
CALLS = {"_": 1, "gettext": 1, "gettext_lazy": 1, "ngettext": 2}
TAG = re.compile(r'{% translate "([^"]+)" %}')
BLOCK = re.compile(r"{% blocktranslate[^%]*%}(.*?){% endblocktranslate %}", re.S)
MARKS = ("queued", "deleted", "cut short", "dropped try", "hidden", "out of context", "no result")  # transcript.py


def msgids() -> set[str]:
    """Every text of ours that goes through gettext."""
    return {*in_python(), *in_templates(), *in_models(), *MARKS, *(word for _, word in OUTCOMES.values())}


def in_python() -> Iterator[str]:
    for path in filter(lambda path: path.exists(), SOURCES):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                for argument in node.args[: CALLS[node.func.id]]:
                    if isinstance(argument, ast.Constant):
                        yield argument.value


def in_templates() -> Iterator[str]:
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        yield from TAG.findall(text)
        for block in BLOCK.findall(text):
            for form in block.split("{% plural %}"):
                yield re.sub(r"{{ (\w+) }}", r"%(\1)s", form)


def in_models() -> Iterator[str]:
    from django.utils import translation

    with translation.override(None):
        for model in our_models():
            yield str(model._meta.verbose_name)
            yield str(model._meta.verbose_name_plural)
            yield from (str(field.verbose_name) for field in our_fields(model))


def catalog() -> dict[str, str]:
    """What the compiled file holds: text -> translation; both forms of a plural."""
    with (FOLDER / "django.mo").open("rb") as file:
        raw = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return {key if isinstance(key, str) else key[0]: value for key, value in raw.items()}


def written() -> dict[str, str]:
    """What the source file holds, in the same form."""
    found: dict[str, str] = {}
    for entry in (FOLDER / "django.po").read_text().split("\n\n"):
        parts = dict(re.findall(r'^(msgid|msgid_plural|msgstr(?:\[0\])?) ((?:"(?:[^"\\]|\\.)*"\n?)+)', entry, re.M))
        texts = {
            name: "".join(ast.literal_eval(line) for line in text.split("\n") if line) for name, text in parts.items()
        }
        found[texts["msgid"]] = texts.get("msgstr", texts.get("msgstr[0]", ""))
    return found


def plurals() -> dict[str, str]:
    return dict(re.findall(r'^msgid "(.*)"\nmsgid_plural "(.*)"$', (FOLDER / "django.po").read_text(), re.M))


def test_every_text_of_ours_has_its_chinese():
    known = catalog().keys() | set(plurals().values())
    assert sorted(msgids() - known) == []


def test_translations_keep_the_placeholders():
    holes = re.compile(r"%\(\w+\)[.\d]*[sdf]")
    for text, translation in catalog().items():
        if text:
            assert set(holes.findall(text)) >= set(holes.findall(translation)), text


def test_the_compiled_file_is_that_of_the_source():
    assert {key: value for key, value in catalog().items() if key} == {k: v for k, v in written().items() if k}


@pytest.mark.django_db
def test_the_pages_follow_the_persons_language_then_the_browsers(signed_in):
    client = signed_in("staff")
    assert "Needs attention" in client.get("/admin/").content.decode()
    browsers = client.get("/admin/", headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert "需要处理" in browsers.content.decode()
    assert 'lang="zh-hans"' in browsers.content.decode()
    client.post("/admin/language/", {"language": "zh-CN"})
    assert "需要处理" in client.get("/admin/").content.decode()
    client.post("/admin/language/", {"language": "en-US"})
    chosen = client.get("/admin/", headers={"accept-language": "zh-CN"})
    assert "Needs attention" in chosen.content.decode()


@pytest.mark.django_db
def test_who_chose_no_language_has_the_one_the_owner_set_for_the_site(signed_in, settings, tmp_path):
    own_home(settings, tmp_path)
    settings_write.write("global", None, "general.language", "zh-CN")
    assert "需要处理" in signed_in("staff").get("/admin/", headers={"accept-language": "en"}).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("page", ["sessions_app/session", "sessions_app/turn", "workspaces_app/workspace", "auth/user"])
def test_lists_open_in_chinese(signed_in, page):
    client = signed_in("superuser")
    answer = client.get(f"/admin/{page}/", headers={"accept-language": "zh-CN"})
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "工作区" in text
    assert not re.search(r">\s*(Sessions|Turns|Workspaces|Users|Started at|Status)\s*<", text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({"next": "/admin/sessions_app/turn/"}, "/admin/sessions_app/turn/"),
        ({"next": "https://example.com/"}, "/admin/"),
        ({"next": "//example.com/"}, "/admin/"),
        ({}, "/admin/"),
    ],
)
def test_the_switch_goes_back_to_our_own_pages_only(signed_in, sent, where):
    answer = signed_in("staff").post("/admin/language/", {"language": "zh-CN", **sent})
    assert (answer.status_code, answer["Location"]) == (302, where)
    assert UserPrefs.objects.get().language == "zh-CN"


@pytest.mark.django_db
def test_an_unknown_language_changes_nothing(signed_in):
    signed_in("staff").post("/admin/language/", {"language": "../../x"})
    assert not UserPrefs.objects.exists()


@pytest.mark.django_db
def test_the_switch_is_for_staff(signed_in):
    assert signed_in("member").post("/admin/language/", {"language": "zh-CN"}).status_code == 302
    assert not UserPrefs.objects.exists()


@pytest.mark.django_db
def test_the_api_speaks_english_after_a_chinese_page(signed_in):
    signed_in("staff").get("/admin/", headers={"accept-language": "zh-CN"})
    answer = Browser().post("/api/auth/login", {"password": "x"}, headers={"accept-language": "zh-CN"})
    assert answer.json() == {"error": "Invalid password"}
    assert settings.LANGUAGE_CODE == "en"
