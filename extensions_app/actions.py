"""Verbs: install and remove. For staff, because they act for everybody (spec/README 26)."""

from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from halo_site.lib.errors import Forbidden, NotFound, TooLarge
from workspaces_app.access import Caller
from workspaces_app.audit import audit

from . import install, registry
from .scanner import Installed

MAX_ZIP = 100 * 1024 * 1024


def check_staff(caller: Caller) -> None:
    if not (caller.is_staff or caller.is_superuser):
        raise Forbidden("Installing and removing extensions is for staff")


def do_install(
    caller: Caller, upload: "UploadedFile[Any]", request: HttpRequest | None = None, *, older: bool = False
) -> Installed:
    """older: also over a newer version. Raises Forbidden, TooLarge, BadRequest, Conflict; then nothing changed."""
    check_staff(caller)
    size = upload.size or 0
    if size > MAX_ZIP:
        raise TooLarge(f"The zip has {size} bytes; the limit is {MAX_ZIP}", maxBytes=MAX_ZIP)
    installed = install.install_zip(registry.root(), cast(BinaryIO, upload.file), older=older)
    said = installed.manifest
    audit("extension.install", actor=caller, target=said.id, request=request, detail={"version": said.version})
    registry.refresh()
    return installed


def do_remove(caller: Caller, name: str, request: HttpRequest | None = None) -> None:
    """name: one of the snapshot's, valid or broken. Raises Forbidden, NotFound."""
    check_staff(caller)
    folder = registry.snapshot().folder_of(name)
    if folder is None:
        raise NotFound("Extension not installed")
    try:
        install.remove(registry.root(), folder)
        audit("extension.remove", actor=caller, target=name, request=request)
    finally:
        registry.refresh()
