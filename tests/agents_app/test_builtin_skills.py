"""The skills that come along: their texts, their scripts, and how they are installed (spec skills)."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agents_app.agents import load_agent
from agents_app.commands import BUILT_IN
from agents_app.placeholders import BUILT_INS
from agents_app.seed import OPTIONAL, SEEDS, SKILLS, TEMPLATE_VERSION, optional_skills, seed_home
from agents_app.skill_file import parse
from agents_app.skill_use import activation_text, offered_skills
from agents_app.skills import find_skill
from agents_app.tools import ACCEPTED_NAMES, TOOLS
from halo_site.lib.access_level import Access

FOLDERS = [SEEDS / "skills" / name for name in SKILLS] + [
    SEEDS / "optional-skills" / name for name in optional_skills()
]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_shipped_skill_reads_without_a_warning_and_names_only_files_that_are_there(folder: Path):
    text = (folder / "SKILL.md").read_text()
    found = parse(text, folder.name)
    assert (found.error, found.warnings, found.name) == ("", (), folder.name)
    assert len(found.body) < 7_000, "it must fit into a tool result with its files"
    for page in folder.glob("*.md"):  # SKILL_FOLDER: how pages that are read as files name the place
        for name in re.findall(r"(?:\{\{skill_dir\}\}|SKILL_FOLDER)/([\w./-]+)", page.read_text()):
            assert (folder / name).is_file(), f"{page.name}: {name}"
    known = {*BUILT_INS, "skill_dir", "params.api_key", "params.hub"}
    assert set(re.findall(r"\{\{\s*([\w.-]+)\s*\}\}", text)) <= known


@pytest.mark.parametrize("name", sorted(set(BUILT_IN) & set(SKILLS)))
def test_a_shipped_skill_names_exactly_the_verbs_that_are_ours(name: str):
    found = parse((SEEDS / "skills" / name / "SKILL.md").read_text(), name)
    ours = {verb.name: verb.requires for verb in found.verbs if verb.builtin}
    assert ours == {verb.name: verb.requires for verb in BUILT_IN[name].verbs}


def test_every_shipped_skill_folder_is_listed():
    assert {place.name for place in (SEEDS / "skills").iterdir() if place.is_dir()} == set(SKILLS)


def test_the_halo_skill_points_at_documents_that_are_installed(home):
    seed_home(home)
    text = (home / "global/skills/halo/SKILL.md").read_text()
    for name in set(re.findall(r"`([\w/-]+\.md)`", text.partition("## Questions")[2])):
        assert (home / "global/docs" / name).is_file(), name


def test_the_agent_skill_names_tools_that_exist():
    text = (SEEDS / "skills/agent/SKILL.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("**Tools**"))
    named = re.findall(r"`(\w+)`", line)
    assert len(named) == 9
    assert set(named) <= set(TOOLS) | ACCEPTED_NAMES


def test_the_default_agent_may_use_all_of_them_and_share_needs_full_access(home, workspace):
    seed_home(home)
    agent = load_agent(workspace, "default")
    assert set(agent.config.skills) == set(SKILLS)
    readonly = {skill.id for skill in offered_skills(workspace, agent.config.skills, Access.READONLY)}
    assert readonly == {*SKILLS} - {"extension"}
    assert {skill.id for skill in offered_skills(workspace, agent.config.skills, Access.FULL)} == set(SKILLS)
    verbs = {verb.name: verb.requires for verb in find_skill(workspace, "workspace").file.verbs}
    assert verbs["share"] is Access.FULL
    assert verbs["setup"] is Access.WORKSPACE


def test_a_refresh_overwrites_ours_and_leaves_yours(home, workspace):
    seed_home(home)
    ours, yours = home / "global/skills/halo/SKILL.md", home / "global/skills/mine/SKILL.md"
    fresh = ours.read_text()
    ours.write_text("edited")
    yours.parent.mkdir()
    yours.write_text("mine")
    seed_home(home, force=True)
    assert (ours.read_text(), yours.read_text()) == (fresh, "mine")
    assert ours.with_name(f"SKILL.md.bak-{TEMPLATE_VERSION}").read_text() == "edited"


def test_an_optional_skill_comes_when_it_is_chosen_and_stays_when_it_is_not_any_more(home):
    seed_home(home)
    place = home / "global/skills/tavily-web-search"
    assert not place.exists()
    (home / "global" / OPTIONAL).write_text("# chosen\ntavily-web-search  # for news\n../x\n")
    assert "skills/tavily-web-search/SKILL.md" in seed_home(home)
    assert "SKILL.md" in {file.name for file in place.iterdir()}
    (home / "global" / OPTIONAL).write_text("")
    (place / "SKILL.md").write_text("edited")
    seed_home(home, force=True)
    assert (place / "SKILL.md").read_text() == "edited"


def test_internal_agents_are_there_hidden_and_complete(home, workspace):
    seed_home(home)
    for agent_id in ("__evo_agent__", "__score__", "__apply_agent__"):
        agent = load_agent(workspace, agent_id)
        assert (agent.internal, agent.config.priority, agent.can_delegate) == (True, -1, False)
        assert agent.persona
    assert "## Shell" in load_agent(workspace, "__apply_agent__").persona


def test_an_activation_names_the_script_where_it_is_installed(home, workspace):
    seed_home(home)
    text = activation_text(find_skill(workspace, "aws-knowledge"), {})
    assert f'python3 -B "{home}/global/skills/aws-knowledge/scripts/aws_kb.py"' in text
    assert "- scripts/aws_kb.py" in text


# -- the scripts, against a server on this machine -----------------------------------------------------------------


class Asked(BaseHTTPRequestHandler):
    """Answers each POST with what the server was given, and keeps what it was asked."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), json.loads(body)))  # type: ignore[attr-defined]
        status, text = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def answering(document: object, status: int = 200) -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Asked)
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    server.answer, server.asked = (status, text), []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(script: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    folder = "optional-skills" if script.startswith("tavily") else "skills"
    command = [sys.executable, "-B", str(SEEDS / folder / script), *arguments]
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def url(server: HTTPServer, path: str = "") -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


@pytest.mark.parametrize("stream", [False, True], ids=["json", "event stream"])
def test_aws_knowledge_prints_what_the_server_says(stream):
    document = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "found: é"}]}}
    text = f"event: message\ndata: {json.dumps(document)}\n\n".encode() if stream else document
    with answering(text) as server:
        arguments = ("search", "s3 limits", "--topics", "general", "troubleshooting", "--limit", "2")
        done = run("aws-knowledge/scripts/aws_kb.py", *arguments, AWS_KB_ENDPOINT=url(server))
    assert (done.returncode, done.stdout) == (0, "found: é\n")
    assert server.asked[0][2]["params"] == {
        "name": "aws___search_documentation",
        "arguments": {"search_phrase": "s3 limits", "limit": 2, "topics": ["general", "troubleshooting"]},
    }


def test_aws_knowledge_says_when_the_server_refuses_or_is_not_there():
    with answering({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no such page"}}) as server:
        done = run("aws-knowledge/scripts/aws_kb.py", "read", "https://x", AWS_KB_ENDPOINT=url(server))
        address = url(server)
    assert (done.returncode, done.stderr) == (1, "error: no such page\n")
    done = run("aws-knowledge/scripts/aws_kb.py", "regions", AWS_KB_ENDPOINT=address)
    assert done.returncode == 1
    assert "could not be reached" in done.stderr
    assert run("aws-knowledge/scripts/aws_kb.py", "nonsense").returncode == 2


NOVA = {
    "output": {
        "message": {
            "content": [
                {"text": "Answer. "},
                {
                    "citationsContent": {
                        "content": [{"text": "More."}],
                        "citations": [{"location": {"web": {"url": "https://a.example"}}}] * 2,
                    }
                },
            ]
        }
    }
}


def test_nova_signs_as_botocore_does_and_prints_answer_and_sources():
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session"}
    with answering(NOVA) as server:
        endpoint = url(server)
        done = run("nova-web-search/scripts/nova_search.py", "what?", **keys, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=endpoint)
    assert (done.returncode, done.stdout) == (0, "Answer. More.\n\nSources:\n- https://a.example\n")
    path, headers, body = server.asked[0]
    assert path == "/model/us.amazon.nova-2-lite-v1%3A0/converse"
    lower = {name.lower(): value for name, value in headers.items()}
    request = AWSRequest("POST", endpoint + path, data=json.dumps(body).encode())
    request.headers["content-type"] = "application/json"
    when = datetime.strptime(lower["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    theirs = SigV4Auth(Credentials("AKIAEXAMPLE", "secret", "session"), "bedrock", "us-east-1")
    request.context["timestamp"] = when.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = lower["x-amz-date"]
    request.headers["X-Amz-Security-Token"] = "session"
    signature = theirs.signature(theirs.string_to_sign(request, theirs.canonical_request(request)), request)
    assert lower["authorization"].endswith(f"Signature={signature}")


def test_nova_without_credentials_or_refused_says_so():
    done = run("nova-web-search/scripts/nova_search.py", "what?")
    assert done.returncode == 1
    assert "no AWS credentials" in done.stderr
    with answering({"message": "denied"}, status=403) as server:
        done = run(
            "nova-web-search/scripts/nova_search.py",
            "what?",
            AWS_BEARER_TOKEN_BEDROCK="t",
            AWS_ENDPOINT_URL_BEDROCK_RUNTIME=url(server),
        )
    assert done.returncode == 1
    assert "Bedrock answered 403" in done.stderr
    assert server.asked[0][1]["Authorization"] == "Bearer t"


def test_tavily_sends_the_key_in_a_header_and_prints_what_was_found():
    found = {"answer": "Yes.", "results": [{"title": "T", "url": "https://a.example", "content": "C"}]}
    with answering(found) as server:
        done = run(
            "tavily-web-search/scripts/tavily_search.py",
            *("news?", "--topic", "news", "--time-range", "week"),
            TAVILY_KEY="tvly-1",
            TAVILY_ENDPOINT=url(server, "/search"),
        )
    assert (done.returncode, done.stdout) == (0, "Yes.\n\n## T\nhttps://a.example\nC\n")
    path, headers, body = server.asked[0]
    assert (path, headers["Authorization"]) == ("/search", "Bearer tvly-1")
    assert body == {
        "query": "news?",
        "max_results": 5,
        "include_answer": True,
        "search_depth": "basic",
        "topic": "news",
        "time_range": "week",
    }
    done = run("tavily-web-search/scripts/tavily_search.py", "x", TAVILY_KEY="{{tavily-web-search.params.api_key}}")
    assert done.returncode == 2
