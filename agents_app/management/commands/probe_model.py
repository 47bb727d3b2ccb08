"""`manage.py probe_model <provider> [<model>]`: is what the registry says of a model true? Costs a few small calls."""

import asyncio
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agents_app.model_binding import model_block
from agents_app.providers.contract import ModelConfig
from agents_app.providers.probe import probe
from agents_app.providers.registry import registry, resolve_model
from halo_site.lib import settings_store
from halo_site.lib.errors import HaloError


class Command(BaseCommand):
    help = "Try text, tools, an image and prompt caching with a real model, and compare with its registry entry"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("provider", help="id of the provider")
        parser.add_argument("model", nargs="?", default="", help="id of the model (default: the provider's)")
        parser.add_argument("--endpoint", default="", help="another address than the provider's")
        parser.add_argument("--workspace", type=Path, help="use the keys of this workspace")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            block = model_block(options["provider"], options["model"], options["endpoint"])
            secrets = settings_store.secrets_of(options["provider"], options["workspace"])
            config = resolve_model(block, secrets=secrets)
            complaint = asyncio.run(self._try(config))
        except HaloError as error:
            raise CommandError(str(error)) from error
        if complaint:
            raise CommandError(complaint)

    async def _try(self, config: ModelConfig) -> str:
        """What is wrong, "" for nothing."""
        from agents_app.providers.http import close_client

        known = registry().model(config.provider, config.model)
        able = known.capabilities if known else None
        complaint = ""
        try:
            async for found in probe(
                config,
                claims_image=able.image if able else None,
                claims_caching=True if able and able.prompt_caching else None,
            ):
                word = "yes" if found.works else "no"
                claim = "" if not found.differs else f" (the entry says {'yes' if found.claimed else 'no'})"
                self.stdout.write(f"{found.name:<8} {word:<4}{found.detail}{claim}")
                if found.name == "text" and not found.works:
                    complaint = "the model could not be asked"
                elif found.differs:
                    complaint = "the registry entry does not tell the truth"
        finally:
            await close_client()
        return complaint
