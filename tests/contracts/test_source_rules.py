"""L4, L8: rules over our own source and locks, checked by parsing them."""

import ast
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).parents[2]
PACKAGES = ("halo_site", *(path.name for path in ROOT.glob("*_app")))
SOURCES = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts]

FORBIDDEN_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
# Where a name that comes from a constant of ours builds a lookup: file -> why that is safe.
DYNAMIC_LOOKUPS = {
    "sessions_app/admin.py": "the field is an attribute of the filter class",
}
# Raw SQL with a text that is not a plain constant: file -> why that is safe.
DYNAMIC_SQL: dict[str, str] = {
    "halo_site/lib/prepared.py": "statements that Django compiled, and names of columns from the models",
    "workspaces_app/data_preview/sqlite.py": "a table's name out of the file's own list, quoted; in a capped child",
    "workspaces_app/data_preview/parquet.py": "clauses of sql_view, and parameters; in a capped child",
    "workspaces_app/data_preview/sql_view.py": "columns out of the file's own list, quoted; every value is a parameter",
    "sessions_app/search/triggers.py": "definitions of triggers, made of constants of the module",
}


def nodes(kind: type[ast.AST]):
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield str(path.relative_to(ROOT)), node


def test_there_is_source_to_check():
    assert len(SOURCES) > 50


def test_L8_nothing_unpickles():
    for file, node in nodes(ast.Import):
        assert not {alias.name.partition(".")[0] for alias in node.names} & FORBIDDEN_MODULES, file
    for file, node in nodes(ast.ImportFrom):
        assert (node.module or "").partition(".")[0] not in FORBIDDEN_MODULES, file


def test_L8_nothing_evaluates_text():
    for file, node in nodes(ast.Call):
        if isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"{file}:{node.lineno}"


def test_no_text_becomes_markup_in_the_browser_app():
    """A name of a file or an agent is inert because React writes it as text; these would go past that."""
    ways = r"dangerouslySetInnerHTML|\.(inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write|srcDoc"
    written = re.compile(ways, re.IGNORECASE)
    sources = [path for path in (ROOT / "static/app/src").rglob("*.ts*") if ".test." not in path.name]
    assert len(sources) > 50
    for path in sources:
        assert not written.search(path.read_text(encoding="utf-8")), path.relative_to(ROOT)


def test_L8_yaml_is_read_by_a_safe_loader():
    for file, node in nodes(ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "yaml":
            allowed = {"load", "load_all", "full_load", "unsafe_load", "Loader", "FullLoader", "UnsafeLoader"}
            assert node.attr not in allowed, f"{file}:{node.lineno} uses yaml.{node.attr}"


def test_S5_no_shell_between_us_and_a_program():
    for file, node in nodes(ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        assert name not in ("system", "popen", "create_subprocess_shell", "getoutput"), f"{file}:{node.lineno}"
        for keyword in node.keywords:
            is_true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
            assert not (keyword.arg == "shell" and is_true), f"{file}:{node.lineno}"


def test_L4_lookups_are_not_built_from_text():
    for file, node in nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "RawSQL":  # constant text with parameters is fine
            assert isinstance(node.args[0], ast.Constant), f"{file}:{node.lineno}: SQL that is put together"
        if not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        unpacked = any(keyword.arg is None for keyword in node.keywords)
        if (
            name in ("filter", "exclude", "get", "annotate", "aggregate", "update_or_create", "get_or_create")
            and unpacked
        ):
            assert file in DYNAMIC_LOOKUPS, f"{file}:{node.lineno}: {name}(**...)"
        assert name not in ("extra", "RawSQL"), f"{file}:{node.lineno}: {name}"


def test_L4_sql_is_constant_text_with_parameters():
    for file, node in nodes(ast.Call):
        is_execute = isinstance(node.func, ast.Attribute) and node.func.attr in (
            "execute",
            "executemany",
            "executescript",
        )
        if is_execute and node.args and not isinstance(node.args[0], ast.Constant | ast.Name):
            assert file in DYNAMIC_SQL, f"{file}:{node.lineno}: SQL that is put together"


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_L8_every_locked_package_is_pinned_and_hashed_and_names_no_index(lock):
    text = (ROOT / lock).read_text()
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) > 20
    for line in lines:
        assert re.match(r"[A-Za-z0-9_.\[\]-]+==\S+", line), line
        assert "--hash=sha256:" in line, line
    assert "://" not in text


@pytest.mark.parametrize(
    ("package", "least"), [("daphne", "4.2.2"), ("autobahn", "26.7.1"), ("pyjwt", "2.13"), ("django", "5.2")]
)
def test_L8_packages_with_known_faults_are_past_them(package, least):
    def numbers(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)][:3]

    assert numbers(version(package)) >= numbers(least)
    locked = re.search(rf"(?m)^{package}==(\S+)", (ROOT / "requirements.lock").read_text())
    assert locked, f"{package} is not in the lock"
    assert numbers(locked[1]) >= numbers(least)
    if package == "django":
        assert locked[1].startswith("5.2."), "the long-term release"


def test_L8_packages_of_the_browser_app_run_no_scripts_when_they_are_installed():
    settings = (ROOT / "static" / "app" / ".npmrc").read_text().split()
    assert "ignore-scripts=true" in settings
    lock = ROOT / "static" / "app" / "package-lock.json"
    assert '"resolved"' not in lock.read_text()


@pytest.mark.django_db
def test_L8_the_deployment_check_is_clean(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)  # the browser tests set it for themselves
    call_command("check", "--deploy", "--fail-level", "WARNING")
