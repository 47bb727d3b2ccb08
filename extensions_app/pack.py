"""A folder as a zip that installs: the contents at its root, the same bytes from the same files (spec 5, H5)."""

import os
import tempfile
import zipfile
from pathlib import Path

from halo_site.lib.errors import BadRequest

from .install import copy_folder
from .manifest import BadManifest
from .scanner import Installed, read_folder
from .steps import STAGING

SAMPLES = Path(__file__).parent / "samples"
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest a zip knows: the same files give the same zip


def samples() -> dict[str, Path]:
    """Our own extensions that come along, by id."""
    return {place.name: place for place in sorted(SAMPLES.iterdir()) if (place / "halo-extension.json").is_file()}


def sample(name: str) -> Path:
    """The folder of a sample. Raises BadRequest when there is none, or when what it needs from npm is not there yet."""
    place = samples().get(name)
    if place is None:
        raise BadRequest(f"{name} is no zip, no folder and no sample ({', '.join(samples())})")
    if (place / "package.json").exists() and not (place / "vendor").is_dir():
        raise BadRequest(f"What the sample {name} brings along is not there yet: run scripts/setup samples")
    return place


def pack(folder: Path, into: Path) -> tuple[Installed, Path]:
    """Judge the folder and write `<id>-<version>.zip` into the folder `into`. Raises BadRequest, OSError."""
    with tempfile.TemporaryDirectory(prefix=STAGING) as place:
        staging = Path(place)
        copy_folder(folder, staging)
        try:
            found = read_folder(staging, name=None)
        except BadManifest as error:
            raise BadRequest(f"Not packed: {error}") from error
        target = into / f"{found.manifest.id}-{found.manifest.version}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(path for path in staging.rglob("*") if path.is_file()):
                info = zipfile.ZipInfo(path.relative_to(staging).as_posix(), _MOMENT)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                with path.open("rb") as file, archive.open(info, "w") as packed:
                    while chunk := file.read(1 << 20):
                        packed.write(chunk)
    return found, Path(os.path.abspath(target))
