"""The schema of agent.yaml (spec agents-and-prompts 2.2), and messages that say where a mistake stands.

Scalars arrive as the text of the file (halo_site.lib.yaml_files), so a name `no` or a version `1.10` stays what it is,
and numbers and yes/no are read here, field by field.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from halo_site.lib.yaml_files import Lines, YamlError, load_with_lines

from .mcp.config import McpServers


def _text(value: Any) -> Any:
    return "" if value is None else value


def _names(value: Any) -> Any:
    if value is None:
        return ()
    if isinstance(value, str):
        raise ValueError(f"a list is needed, such as [{value}]")
    return value


def _caching(value: Any) -> Any:
    match str(value).strip().lower() if value is not None else "":
        case "" | "false" | "no" | "off":
            return None
        case "true" | "yes" | "on":
            return "5m"
        case text:
            return text


Words = Annotated[tuple[str, ...], BeforeValidator(_names)]
Line = Annotated[str, BeforeValidator(_text)]
Needed = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Whole = Annotated[int, Field(ge=1, le=100_000_000)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_means_unset(cls, value: Any) -> Any:
        """`key:` without a value is the same as no key."""
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return {} if value is None else value


class Thinking(Part):
    enabled: bool = False
    effort: str | None = None
    budget: str | None = None  # the older name of effort
    budget_tokens: Whole | None = Field(default=None, alias="budget_tokens")

    @property
    def label(self) -> str:
        """low, medium, high, xhigh or max; medium when nothing is set."""
        return self.effort or self.budget or "medium"


class Fallback(Part):
    """A model to go on with when the one before it stays silent; what it can is what the registry says of it."""

    provider: Needed
    id: Needed
    endpoint: Needed


class ModelBlock(Part):
    """`provider`, `id` and `endpoint` have no defaults: an agent without them cannot run."""

    provider: Line = ""
    id: Line = ""
    endpoint: Line = ""
    max_tokens: Whole | None = None
    prompt_caching: Annotated[Literal["5m", "1h"] | None, BeforeValidator(_caching)] = None
    thinking: Thinking = Thinking()
    verbosity: Literal["low", "medium", "high"] | None = None
    image: bool | None = None
    video: bool | None = None
    audio: bool | None = None
    fallback: Annotated[tuple[Fallback, ...], BeforeValidator(_names), Field(max_length=4)] = ()

    @property
    def missing(self) -> list[str]:
        names = ("provider", "id", "endpoint")
        return [f"model.{name}" for name in names if not getattr(self, name).strip()]


class Context(Part):
    max_tokens: Whole | None = None
    compress_at: Annotated[float, Field(gt=0, le=1)] | None = None


class AgentYaml(Part):
    name: Line = ""
    description: Line = ""
    model: ModelBlock = ModelBlock()
    system_prompt: Line = Field(default="", alias="system_prompt")
    context: Context = Context()
    tools: Words = ()
    skills: Words = ()
    team: Words = ()
    mcp: McpServers = ()
    priority: Annotated[int, Field(ge=-1_000_000, le=1_000_000)] = 0
    internal: bool = False


class AgentYamlError(YamlError):
    """agent.yaml is YAML, but not an agent. The text has one line per mistake, each with its line number."""


def parse(text: str) -> tuple[AgentYaml, list[str]]:
    """The agent, and warnings for what was ignored (`line 4: unknown key "colour"`).

    Raises YamlError (AgentYamlError for a wrong value) with line numbers.
    """
    document, lines = load_with_lines(text)
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise AgentYamlError("an agent is a mapping (`name: ...` lines)", 1)
    try:
        agent = AgentYaml.model_validate(document)
    except ValidationError as error:
        raise _told(error, lines) from error
    return agent, _unknown(document, AgentYaml, lines, ())


def _told(error: ValidationError, lines: Lines) -> AgentYamlError:
    problems: list[tuple[int, str]] = []
    for problem in error.errors(include_url=False):
        path = tuple(str(part) for part in problem["loc"])
        said = problem["msg"].removeprefix("Value error, ")
        given = problem.get("input")
        shown = f" (it is {given!r})" if isinstance(given, str) and problem["type"] != "value_error" else ""
        problems.append((lines.near(path), f"{'.'.join(path)}: {said}{shown}"))
    problems.sort()
    first = problems[0]
    more = "".join(f"\nline {line}: {text}" for line, text in problems[1:])
    return AgentYamlError(first[1] + more, first[0])


def _unknown(document: dict[str, Any], model: type[BaseModel], lines: Lines, path: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    known = {field.alias or name: field for name, field in model.model_fields.items()}
    for key, value in document.items():
        here = (*path, key)
        field = known.get(key)
        if field is None and key not in model.model_fields:
            found.append(f'line {lines.near(here)}: unknown key "{".".join(here)}" is ignored')
        elif field is not None and isinstance(value, dict):
            inner = field.annotation
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                found += _unknown(value, inner, lines, here)
    return found
