"""`manage.py tidy`: frees what old temporary files, uploads and internal sessions take, and says how much."""

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.terminal import one_line
from sessions_app.tidy import Rules, delete_sessions, files_of, idle_internal_sessions, remove_files, too_many
from workspaces_app.models import Workspace

MIB = 2**20


class Command(BaseCommand):
    help = "Remove old temporary files and sessions of internal agents; on request old uploads and pictures too"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=_whole, default=30, help="keep .halo/tmp and internal sessions (default 30)")
        parser.add_argument("--media-days", type=_whole, help="keep .halo/uploads and .halo/assets (default: for ever)")
        parser.add_argument(
            "--quota-mb", type=_whole, help="MiB the three may take in a workspace; the oldest go first"
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")

    def handle(self, *args: Any, **options: Any) -> None:
        quota = options["quota_mb"]
        rules = Rules(options["days"], options["media_days"], None if quota is None else quota * MIB)
        dry = options["dry_run"]
        word = "would go" if dry else "removed"
        for path in Workspace.objects.order_by("path").values_list("path", flat=True):
            root = Path(path)
            if not (root / ".halo").is_dir():
                continue
            files = files_of(root)
            old = too_many(files, rules, time.time())
            freed = sum(file.size for file in old) if dry else remove_files(root, old)
            if files:
                size = sum(file.size for file in files)
                told = f"{size / MIB:.1f} MiB in {len(files)} files, {freed / MIB:.1f} MiB in {len(old)} files {word}"
                self.stdout.write(one_line(f"{path}: {told}", 4000))
        keys = idle_internal_sessions(options["days"])
        self.stdout.write(f"internal sessions: {len(keys) if dry else delete_sessions(keys)} {word}")


def _whole(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 1_000_000:
        raise ValueError
    return number
