"""Agents and skills for staff: what there is in the home or a workspace, why something cannot run, and the switches."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from agents_app.agents import list_agents
from agents_app.disabled import NOTHING, Disabled, disabled_in, mirror, set_disabled
from agents_app.mcp.states import servers_of
from agents_app.skills import list_skills
from halo_site.lib.access_level import Access
from workspaces_app.models import Workspace
from workspaces_app.staff import record, row_key

SHOWN = 200  # workspaces to choose from


@dataclass(frozen=True, slots=True)
class Row:
    """One folder. `ring` is the mark in front of `state`; `problem` what its file says wrong."""

    kind: str
    id: str
    name: str
    scope: str
    about: str
    ring: str
    state: str
    problem: str = ""
    disabled: bool = False


def agents_page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """GET `?workspace=<key>`: that workspace, else the home. POST `kind`, `id`, `scope`: switch it there."""
    key = row_key(request.GET.get("workspace"))
    workspace = get_object_or_404(Workspace, pk=key) if key is not None else None
    if request.method == "POST":
        if workspace is not None:
            _switch(request, workspace)
        here = reverse("admin:agents")
        return HttpResponseRedirect(f"{here}?workspace={workspace.pk}" if workspace else here)
    folder = Path(workspace.path) if workspace else None
    disabled = disabled_in(workspace.pk) if workspace else NOTHING
    context = {
        **site.each_context(request),
        "title": _("Agents and skills"),
        "workspace": workspace,
        "workspaces": Workspace.objects.order_by("-opened_at", "-pk")[:SHOWN],
        "sections": [
            {"title": _("Agents"), "rows": list(_agents(folder, disabled))},
            {"title": _("Skills"), "rows": list(_skills(folder, disabled))},
            *([{"title": _("MCP servers"), "rows": list(_servers(workspace, disabled))}] if workspace else ()),
        ],
    }
    return TemplateResponse(request, "admin/halo/agents.html", context)


def _switch(request: HttpRequest, workspace: Workspace) -> None:
    wanted = (request.POST.get("kind", ""), request.POST.get("id", ""), request.POST.get("scope", ""))
    folder, disabled = Path(workspace.path), disabled_in(workspace.pk)
    known = {(row.kind, row.id, row.scope) for row in (*_agents(folder, disabled), *_skills(folder, disabled))}
    if wanted not in known:
        messages.error(request, _("It is not there any more."))
        return
    kind, item, scope = wanted
    off = wanted not in disabled
    set_disabled(workspace, "agent" if kind == "agent" else "skill", item, scope, off=off)
    mirror(workspace)
    verb = "disable" if off else "enable"
    record(request, f"{kind}.{verb}", item, workspace=workspace, detail={"scope": scope, "door": "staff site"})


def _agents(folder: Path | None, disabled: Disabled) -> Iterator[Row]:
    for entry in list_agents(folder, disabled):
        agent = entry.agent
        model = f"{agent.config.model.provider} · {agent.config.model.id}" if agent else ""
        ring, state = _state(entry.error, entry.disabled, entry.overridden, bool(agent and agent.internal))
        name = agent.name if agent else entry.id
        problem = entry.error or "\n".join(agent.warnings if agent else ())
        yield Row("agent", entry.id, name, entry.scope, model, ring, state, problem, entry.disabled)


def _skills(folder: Path | None, disabled: Disabled) -> Iterator[Row]:
    for skill in list_skills(folder, disabled):
        file = skill.file
        about = " · ".join(part for part in (f"/{file.command}" if file.command else "", file.requires or "") if part)
        ring, state = _state(file.error, skill.disabled, skill.overridden, False)
        problem = file.error or "\n".join(file.warnings)
        yield Row("skill", skill.id, file.name, skill.scope, about, ring, state, problem, skill.disabled)


def _servers(workspace: Workspace, disabled: Disabled) -> Iterator[Row]:
    """A row for each level that used a server; one that nobody needed yet has one, too."""
    for entry in list_agents(Path(workspace.path), disabled):
        if entry.agent is None or entry.overridden:
            continue
        for server in servers_of(entry.agent, workspace, Access.FULL):
            for known in server["states"] or [{}]:
                about = " · ".join(filter(None, (server["transport"], known.get("level", ""))))
                ring, state = _server_state(known.get("state", ""))
                problem = "\n".join(filter(None, (known.get("error"), *known.get("warnings", ()))))
                yield Row("mcp", entry.id, server["name"], entry.scope, about, ring, state, problem)


def _server_state(state: str) -> tuple[str, str]:
    match state:
        case "ready":
            return "ok", _("running")
        case "starting":
            return "ok", _("starting")
        case "failed":
            return "err", _("failed")
        case "ended":
            return "off", _("ended; starts when needed")
    return "off", _("not needed yet")


def _state(error: str, disabled: bool, overridden: bool, internal: bool) -> tuple[str, str]:
    if disabled:
        return "off", _("disabled here")
    if error:
        return "err", _("cannot be used")
    if overridden:
        return "off", _("hidden by the workspace's own")
    return "ok", _("internal") if internal else _("in use")
