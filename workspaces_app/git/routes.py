"""Routes of source control. Reading needs readonly access, changing workspace access, where remotes lead full access;
what belongs to the server's own account (credentials, ssh keys) is its owner's."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import orjson
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import HttpResponse
from ninja import Router

from halo_site.lib.access_level import Access
from halo_site.lib.errors import BadRequest
from halo_site.lib.publish import publish, workspace_topic
from halo_site.lib.schema import Ok

from ..access import Caller, CallerRequest, check_superuser, open_workspace
from ..audit import audit
from ..events import FileChanged, GitProgress
from ..models import Workspace
from ..writers import weakest_writer
from . import credentials, deploy_key, read, remote_url, ssh_agent, ssh_keys, sync, write
from . import schemas as s
from .identity import Person
from .parse import Change, Commit
from .run import Place

router = Router(by_alias=True, tags=["git"])


def _enter(caller: Caller, project_id: str | None, need: Access) -> tuple[Workspace, Access, Place]:
    workspace, level = open_workspace(caller, project_id, need)
    person = None
    if need is not Access.READONLY:
        user = User.objects.get(pk=caller.user_id)
        name = user.get_full_name() or user.username
        person = Person(name, user.email or f"{user.username}@localhost", is_author=not caller.is_superuser)
    return workspace, level, Place(Path(workspace.path), weakest_writer(workspace), workspace.pk, person)


async def _look(request: CallerRequest, project_id: str | None) -> tuple[Access, Place]:
    _, level, place = await sync_to_async(_enter)(request.caller, project_id, Access.READONLY)
    return level, place


async def _change(
    request: CallerRequest, project_id: str | None, need: Access = Access.WORKSPACE
) -> tuple[Workspace, Access, Place]:
    return await sync_to_async(_enter)(request.caller, project_id, need)


def _changed(workspace: Workspace) -> None:
    """Rule 36: those who have the workspace open look again."""
    publish(workspace_topic(workspace.pk), FileChanged(path=".git", action="change"))


async def _note(request: CallerRequest, action: str, target: str, workspace: Workspace | None = None) -> None:
    await sync_to_async(audit)(action, actor=request.caller, target=target, workspace=workspace, request=request)


async def _json(build: Callable[[], dict[str, Any]]) -> HttpResponse:
    """A long answer, made in a thread: checking 10,000 files against the schema takes the loop half a second.

    tests/workspaces_app/git/test_panel.py holds these answers against their schemas instead.
    """
    body = await asyncio.to_thread(lambda: orjson.dumps(build()))
    return HttpResponse(body, content_type="application/json; charset=utf-8")


# -- looking


@router.get("/git/status", response=s.StatusOut, exclude_unset=True, summary="Branch and changed files")
async def status(request: CallerRequest, projectId: str | None = None) -> HttpResponse:
    _, place = await _look(request, projectId)
    found = await read.status(place)

    def build() -> dict[str, Any]:
        if found is None:
            return {"isRepo": False}
        return {
            "isRepo": True,
            "branch": found.branch or None,
            "head": found.head or None,
            "tracking": found.upstream or None,
            "ahead": found.ahead,
            "behind": found.behind,
            "state": read.unfinished(place.root),
            "files": [_file(change) for change in found.changes[: read.MAX_CHANGES]],
            "truncated": len(found.changes) > read.MAX_CHANGES,
        }

    return await _json(build)


def _file(change: Change) -> dict[str, Any]:
    shown = {"path": change.path, "index": change.index, "workingDir": change.working_dir}
    if change.source:
        shown["from"] = change.source
    return {**shown, "conflicted": True} if change.conflicted else shown


@router.get("/git/ignored", response=s.IgnoredOut, exclude_unset=True, summary="Files and folders git ignores")
async def ignored(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    _, place = await _look(request, projectId)
    found = await read.ignored(place)
    return {"isRepo": False, "ignored": []} if found is None else {"ignored": found}


@router.get("/git/diff", response=s.DiffOut, summary="Both sides of a changed file")
async def diff(
    request: CallerRequest,
    projectId: str | None = None,
    path: str = "",
    staged: str = "",
    commit: str | None = None,
) -> dict[str, Any]:
    """`from` names the old path of a renamed file; `staged=1` compares what is staged."""
    level, place = await _look(request, projectId)
    source = request.GET.get("from") or None
    sides = await read.diff(place, level, path, source, staged=staged == "1", commit=commit or None)
    return {"path": path, "original": sides.original, "modified": sides.modified, "binary": sides.binary}


@router.get("/git/log", response=s.LogOut, summary="Newest commits")
async def log(request: CallerRequest, projectId: str | None = None, limit: int = 50) -> HttpResponse:
    _, place = await _look(request, projectId)
    found = await read.log(place, max(1, min(limit, read.MAX_LOG)))
    return await _json(lambda: {"commits": [_commit(commit, pushed) for commit, pushed in found or []]})


def _commit(commit: Commit, pushed: bool) -> dict[str, Any]:
    return {
        "hash": commit.hash,
        "shortHash": commit.short_hash,
        "message": commit.subject,
        "body": commit.body,
        "author": commit.author,
        "date": commit.at * 1000,
        "refs": commit.refs,
        "pushed": pushed,
    }


@router.get("/git/commit-files", response=s.CommitFilesOut, exclude_unset=True, summary="Files of a commit")
async def commit_files(request: CallerRequest, projectId: str | None = None, hash: str = "") -> dict[str, Any]:
    _, place = await _look(request, projectId)
    if not hash:
        raise BadRequest("hash is required")
    found = await read.commit_files(place, hash) or []
    files = []
    for one in found:
        shown = {"path": one.path, "status": one.status}
        files.append({**shown, "from": one.source} if one.source else shown)
    return {"files": files}


@router.get("/git/remotes", response=s.RemotesOut, summary="Remotes and their addresses")
async def remotes(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    _, place = await _look(request, projectId)
    found = await read.remotes(place)
    return {"remotes": [{"name": name, "url": remote_url.shown(url)} for name, url in found]}


@router.get("/git/remote/protocol", response=s.ProtocolOut, summary="Is origin reached by https or ssh")
async def protocol(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    _, place = await _look(request, projectId)
    url = dict(await read.remotes(place)).get("origin", "")
    return {"url": remote_url.shown(url), "protocol": remote_url.protocol_of(url)}


# -- changing


@router.post("/git/stage", response=Ok, summary="Stage files")
async def stage(request: CallerRequest, body: s.PathsIn) -> dict[str, Any]:
    workspace, level, place = await _change(request, body.project_id)
    await write.stage(place, level, body.paths)
    _changed(workspace)
    return {"ok": True}


@router.post("/git/unstage", response=Ok, summary="Take files out of the next commit")
async def unstage(request: CallerRequest, body: s.PathsIn) -> dict[str, Any]:
    workspace, level, place = await _change(request, body.project_id)
    await write.unstage(place, level, body.paths)
    _changed(workspace)
    return {"ok": True}


@router.post("/git/commit", response=s.CommittedOut, summary="Commit what is staged")
async def commit(request: CallerRequest, body: s.MessageIn) -> dict[str, Any]:
    workspace, _, place = await _change(request, body.project_id)
    made = await write.commit(place, body.message)
    _changed(workspace)
    return {"ok": True, "hash": made}


@router.post("/git/init", response=Ok, summary="Make the folder a repository")
async def init(request: CallerRequest, body: s.ProjectIn) -> dict[str, Any]:
    """With a first commit of everything that is not ignored; nothing happens when it is one."""
    workspace, _, place = await _change(request, body.project_id)
    if await write.init(place):
        await _note(request, "git.init", workspace.path, workspace)
        _changed(workspace)
    return {"ok": True}


@router.post("/git/push", response=Ok, summary="Push the branch")
async def push(request: CallerRequest, body: s.ProjectIn) -> dict[str, Any]:
    """Tells frames `git:progress` meanwhile. A failure has git's own text."""
    return await _sync(request, body, "push")


@router.post("/git/pull", response=Ok, summary="Pull the branch")
async def pull(request: CallerRequest, body: s.ProjectIn) -> dict[str, Any]:
    """As push. After a conflict the status names the files and the unfinished merge."""
    return await _sync(request, body, "pull")


async def _sync(request: CallerRequest, body: s.ProjectIn, action: Literal["push", "pull"]) -> dict[str, Any]:
    workspace, _, place = await _change(request, body.project_id)
    topic = workspace_topic(workspace.pk)

    def tell(stage: str, percent: int | None, done: bool | None = None) -> None:
        frame = GitProgress(workspace_path=workspace.path, action=action, stage=stage, percent=percent, done=done)
        publish(topic, frame)

    tell("Connecting", None)
    try:
        await (sync.push if action == "push" else sync.pull)(place, tell)
        await _note(request, f"git.{action}", workspace.path, workspace)
    finally:
        tell("", None, done=True)
        _changed(workspace)  # a failed pull may have fetched, or begun a merge
    return {"ok": True}


@router.post("/git/remote", response=Ok, summary="Add a remote or change its address")
async def set_remote(request: CallerRequest, body: s.RemoteIn) -> dict[str, Any]:
    workspace, _, place = await _change(request, body.project_id, Access.FULL)
    await write.set_remote(place, body.name, body.url)
    await _note(request, "git.remote", f"{body.name} {remote_url.shown(body.url)}", workspace)
    _changed(workspace)
    return {"ok": True}


@router.post("/git/remote/protocol", response=s.SwitchedOut, summary="Reach origin by https or by ssh")
async def switch_protocol(request: CallerRequest, body: s.ProtocolIn) -> dict[str, Any]:
    workspace, _, place = await _change(request, body.project_id, Access.FULL)
    url = await write.switch_protocol(place, body.to)
    await _note(request, "git.remote", f"origin {remote_url.shown(url)}", workspace)
    _changed(workspace)
    return {"ok": True, "url": remote_url.shown(url)}


@router.get("/git/deploy-key", response=s.DeployKeyOut, summary="The ssh key of this workspace alone")
def show_deploy_key(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    workspace, _ = open_workspace(request.caller, projectId, Access.FULL)
    return {"publicKey": deploy_key.public(workspace.pk)}


@router.post("/git/deploy-key", response=s.DeployKeyOut, summary="Make the ssh key of this workspace")
def make_deploy_key(request: CallerRequest, body: s.ProjectIn) -> dict[str, Any]:
    """One that is there stays. From then on pushes and pulls over ssh use it and nothing else."""
    workspace, _ = open_workspace(request.caller, body.project_id, Access.FULL)
    key = deploy_key.make(workspace.pk)
    audit("git.deploy_key", actor=request.caller, target="made", workspace=workspace, request=request)
    return {"publicKey": key}


@router.delete("/git/deploy-key", response=Ok, summary="Forget the ssh key of this workspace")
def forget_deploy_key(request: CallerRequest, projectId: str | None = None) -> dict[str, Any]:
    workspace, _ = open_workspace(request.caller, projectId, Access.FULL)
    deploy_key.forget(workspace.pk)
    audit("git.deploy_key", actor=request.caller, target="forgotten", workspace=workspace, request=request)
    return {"ok": True}


# -- what belongs to the server's account


@router.get("/git/credentials", response=s.CredentialsOut, summary="Hosts with saved credentials")
def list_credentials(request: CallerRequest) -> dict[str, Any]:
    check_superuser(request.caller)
    found = credentials.listed()
    return {
        "credentials": [{"host": one.host, "username": one.username} for one in found],
        "warning": credentials.WARNING if found else None,
    }


@router.post("/git/credentials", response=Ok, summary="Save a token for a host")
def save_credential(request: CallerRequest, body: s.CredentialIn) -> dict[str, Any]:
    check_superuser(request.caller)
    credentials.save(body.host, body.username, body.token)
    audit("git.credential_save", actor=request.caller, target=credentials.split_host(body.host)[1], request=request)
    return {"ok": True}


@router.delete("/git/credentials/{host}", response=Ok, summary="Forget the token of a host")
def remove_credential(request: CallerRequest, host: str) -> dict[str, Any]:
    check_superuser(request.caller)
    credentials.remove(host)
    audit("git.credential_remove", actor=request.caller, target=credentials.split_host(host)[1], request=request)
    return {"ok": True}


@router.get("/git/ssh/keys", response=s.KeysOut, summary="Private keys of the server's account")
def list_keys(request: CallerRequest) -> dict[str, Any]:
    check_superuser(request.caller)
    return {
        "keys": [{"name": key.name, "path": key.path, "encrypted": key.encrypted} for key in ssh_keys.private_keys()]
    }


@router.get("/git/ssh/agent", response=s.SshAgentOut, summary="Is there an ssh agent, and what does it hold")
def agent(request: CallerRequest) -> dict[str, Any]:
    """None runs before the first key is unlocked or the first push over ssh."""
    check_superuser(request.caller)
    socket = ssh_agent.running()
    return {"agentRunning": socket is not None, "loadedKeys": (ssh_agent.loaded(socket) or []) if socket else []}


@router.post("/git/ssh/unlock", response=s.UnlockedOut, exclude_none=True, summary="Hand a key to the ssh agent")
def unlock(request: CallerRequest, body: s.UnlockIn) -> dict[str, Any]:
    check_superuser(request.caller)
    path = ssh_keys.checked_key(body.key_path)
    error = ssh_keys.unlock(path, body.passphrase, ssh_agent.ensure())
    audit("git.ssh_unlock", actor=request.caller, target=path.name, request=request, detail={"ok": not error})
    return {"ok": False, "error": error} if error else {"ok": True}
