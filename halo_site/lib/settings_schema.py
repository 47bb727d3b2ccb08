"""What may be set: fields as data, and how a stored value is read (`general_settings` lists ours)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import BadRequest

FieldType = Literal["string", "int", "float", "boolean", "enum", "list"]
TYPES: tuple[FieldType, ...] = ("string", "int", "float", "boolean", "enum", "list")
Value = str | int | float | bool | list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing to set. `default`: as text, `<<ENV>>` allowed; None = no default. Numbers: low and high inclusive."""

    key: str
    type: FieldType = "string"
    kind: Literal["param", "secret"] = "param"
    options: Sequence[str] = ()
    option_labels: Sequence[str] = ()
    description: str = ""
    description_zh: str = ""
    default: str | None = None
    secret: bool = False
    global_only: bool = False
    low: float | None = None
    high: float | None = None
    unit: str = ""  # ms, bytes, minutes ...: shown beside the field
    restart: bool = False  # read at start only

    def read(self, raw: Any) -> Value | None:
        """A stored value in its type; None = unset (empty, null). Raises BadRequest that says what is allowed."""
        if raw is None or raw == "":
            return None
        match self.type:
            case "int" | "float":
                return self._number(raw)
            case "boolean":
                return self._yes_no(raw)
            case "list":
                items = raw if isinstance(raw, list) else str(raw).split(",")
                return [str(item).strip() for item in items if str(item).strip()]
            case _ if isinstance(raw, dict | list):
                raise BadRequest(f"{self.key} must be text")
            case "enum" if str(raw) not in self.options:
                raise BadRequest(f"{self.key} must be one of {', '.join(self.options)}")
        return str(raw)

    def _number(self, raw: Any) -> int | float:
        if isinstance(raw, str) and raw.startswith("<<") and raw.endswith(">>"):
            raise BadRequest(f"{self.key}: a number cannot come from an environment variable")
        try:
            if isinstance(raw, bool | dict | list) or len(str(raw)) > 40:
                raise ValueError
            number: int | float = int(str(raw)) if self.type == "int" else float(str(raw))
        except ValueError:
            whole = "a whole number" if self.type == "int" else "a number"
            raise BadRequest(f"{self.key} must be {whole}") from None
        if not (number - number == 0):  # infinite or not a number
            raise BadRequest(f"{self.key} must be a number")
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise BadRequest(f"{self.key} must be from {self.low} to {self.high}")
        return number

    def _yes_no(self, raw: Any) -> bool:
        if isinstance(raw, bool):
            return raw
        match str(raw).lower():
            case "true" | "yes" | "on" | "1":
                return True
            case "false" | "no" | "off" | "0":
                return False
        raise BadRequest(f"{self.key} must be true or false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Fields of one owner. `id`: general, a provider, a skill or an agent; paths are `<id>[.params|.secrets].<key>`."""

    id: str
    group: Literal["general", "provider", "skill", "agent"]
    title: str
    title_zh: str = ""
    fields: Sequence[Field] = field(default_factory=tuple)

    def path_of(self, part: Field) -> str:
        return f"general.{part.key}" if self.group == "general" else f"{self.id}.{part.kind}s.{part.key}"


def field_from(raw: Mapping[str, Any], kind: Literal["param", "secret"]) -> Field | None:
    """A declaration of a package's yaml; None without a key. Unknown types count as string (spec, schema sources)."""
    key = str(raw.get("key") or "")
    if not key:
        return None
    options = [str(item) for item in raw.get("options") or []] if isinstance(raw.get("options"), list) else []
    labels = [str(item) for item in raw.get("optionLabels") or []] if isinstance(raw.get("optionLabels"), list) else []
    declared = str(raw.get("type") or "string")
    kind_of: FieldType = next((known for known in TYPES if known == declared), "string")
    if kind_of == "enum" and not options:
        kind_of = "string"
    default = raw.get("default")
    return Field(
        key=key,
        type=kind_of,
        kind=kind,
        options=options,
        option_labels=labels if len(labels) == len(options) else (),
        description=str(raw.get("description") or ""),
        description_zh=str(raw.get("description_zh") or ""),
        default=None if default is None else str(default),
        secret=_flag(raw.get("secret")) or kind == "secret",
        global_only=_flag(raw.get("globalOnly")),
    )


def _flag(value: object) -> bool:
    return str(value).lower() == "true"
