"""What `tests.yaml` of a skill may say, and how what happened is compared with it. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from halo_site.lib.access_level import Access

from ..providers.script import Called

FILE = "tests.yaml"
Refusal = Literal["", "not_offered", "access_required", "load_failed", "no_command"]


class CasesError(ValueError):
    """The file cannot be used. The text says where."""


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if not path.strip() or parts.is_absolute() or ".." in parts.parts or "\0" in path:
        raise ValueError("a path below the folder of the test")
    return path


InFolder = Annotated[str, AfterValidator(_inside)]
Words = Annotated[tuple[str, ...], Field(max_length=100)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reply(_Part):
    """One answer of the model: calls that are made in order. Without any it says something and the turn is over."""

    calls: tuple[Called, ...] = ()


class Expected(_Part):
    """told: texts that the model must have been given, in the message or by a tool. fails: texts of calls that must
    fail; no other may. files: what they must hold afterwards; null = they are not there."""

    told: Words = ()
    not_told: Words = ()
    fails: Words = ()
    files: dict[InFolder, str | None] = {}
    refused: Refusal = ""


class Case(_Part):
    """prompt: `/command ...`, or words, for which the model loads the skill first. model: None = it does no more."""

    name: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    level: Access = Access.WORKSPACE
    files: dict[InFolder, str] = {}
    model: tuple[Reply, ...] = ()
    expect: Expected = Expected()


class _File(_Part):
    cases: tuple[Case, ...] = Field(min_length=1)


def parse(text: str) -> tuple[Case, ...]:
    """Raises CasesError."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise CasesError(f"it is not YAML{f' (line {mark.line + 1})' if mark else ''}") from error
    try:
        return _File.model_validate(document).cases
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise CasesError(f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from error


def differences(
    expected: Expected, *, refused: str, told: Sequence[str], failures: Sequence[str], files: Mapping[str, str | None]
) -> list[str]:
    """What is not as expected, one line each.

    failures: texts of calls that failed; files: those expected, as found.
    """
    if refused or expected.refused:
        if refused == expected.refused:
            return []
        return [f"expected {expected.refused or 'no refusal'}, was {refused or 'not refused'}"]
    found = [
        f"a call failed: {' '.join(failure.split())[:300]}"
        for failure in failures
        if not any(text in failure for text in expected.fails)
    ]
    found += [f"no call failed with: {text}" for text in expected.fails if not any(text in each for each in failures)]
    everything = "\n".join(told)
    found += [f"the model was not told: {text}" for text in expected.told if text not in everything]
    found += [f"the model was told: {text}" for text in expected.not_told if text in everything]
    for path, wanted in expected.files.items():
        held = files.get(path)
        if wanted is None and held is not None:
            found.append(f"{path} is there")
        elif wanted is not None and held is None:
            found.append(f"{path} is not there")
        elif wanted is not None and held is not None and wanted not in held:
            found.append(f"{path} does not hold: {wanted}")
    return found
