"""Spelling of labels, devices, images, registries, web addresses and days, as types for fields of models.

A text of another form is refused with a message that gives the allowed form. Except for devices, the message does not
repeat the text, which may be a secret in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, StringConstraints
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_SHOWN = 80

_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_DNS_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_SUBDOMAIN = rf"(?=.{{1,253}}(/|$)){_DNS_LABEL}(\.{_DNS_LABEL})*"
_LABEL_VALUE = re.compile(rf"({_PART})?")
_LABEL_KEY = re.compile(rf"({_SUBDOMAIN}/)?{_PART}")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_PORT = r":(6553[0-5]|655[0-2][0-9]|65[0-4][0-9][0-9]|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
_HOST_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_HOST_LABEL}(\.{_HOST_LABEL})*"
# A registry has a dot, a port, or the name localhost; runtimes read anything else as a path at Docker Hub.
_LOWER = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_REGISTRY = rf"((localhost|{_LOWER}(\.{_LOWER})+)({_PORT})?|{_LOWER}{_PORT})"
_PATH_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PATH_PART}(/{_PATH_PART})*"
# Source: the reference grammar of distribution, with which container runtimes and operators parse images.
_IMAGE = re.compile(
    rf"(?=[^:@]{{1,255}})({_REGISTRY}/)?{_PATH}(:\w[\w.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?", re.ASCII
)

NOT_AN_INTERFACE = frozenset({".", "..", "lo", "all", "default"})
"""Names that no NIC has: folders, the loopback interface, and the kernel's settings of all interfaces."""


def shown(text: str) -> str:
    """A text in quotes for a message: escaped and shortened."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}…"


@dataclass(frozen=True)
class Spelled:
    """A check that a whole text has a form, for a type's annotations; `write` describes the allowed form."""

    pattern: str
    what: str
    write: str
    repeated: bool = False

    @cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.ASCII)

    def fits(self, value: str) -> str:
        """The text; raises ValueError if it has another form."""
        if self._form.fullmatch(value) is None:
            said = shown(value) if self.repeated else "this"
            raise ValueError(f"{said} is not a valid {self.what}; write {self.write}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check, after those of the type itself."""
        return core_schema.no_info_after_validator_function(self.fits, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The pattern of the form, for editors."""
        return {**handler(schema), "pattern": f"^({self.pattern})$"}


def is_label_key(text: str) -> bool:
    """Whether a text is a valid key of a label or taint in Kubernetes."""
    return _LABEL_KEY.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether a text is a valid value of a label or taint in Kubernetes; the empty text is valid."""
    return _LABEL_VALUE.fullmatch(text) is not None


def is_image(text: str) -> bool:
    """Whether a text is a valid image reference."""
    return _IMAGE.fullmatch(text) is not None


def moves(image: str) -> bool:
    """Whether an image reference is not fixed: it has no digest, and no tag or a moving one."""
    if "@" in image:
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest", "main", "master", "edge", "nightly", "stable", "snapshot")


def _line(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("the text has line ends or other control characters; write it in one line without them")
    if value != value.strip():
        raise ValueError("the text has blanks at its beginning or end; write it without them")
    return value


def _image(value: str) -> str:
    if not is_image(value):
        raise ValueError(
            "this is not a valid image; write [registry/]path[:tag][@sha256:digest], the path in lower case, such as "
            "registry.example.com/tests:1.0"
        )
    return value


def _interface(value: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,15}", value) is None or value in NOT_AN_INTERFACE:
        raise ValueError(
            f"{shown(value)} is not a valid interface name; write at most 15 letters, digits, '_', '-' and '.', that "
            f"of a NIC, "
            "such as rdma0"
        )
    return value


def _guid(value: str) -> str:
    octets = value.lower().split(":")
    if re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}", value) is None or set(octets) in ({"00"}, {"ff"}):
        raise ValueError(
            "this is not a valid GUID; write eight bytes with colons, neither all 00 nor all ff, such as "
            "02:00:00:00:00:00:00:01"
        )
    return value


def web_address(*schemes: str, query: bool = False) -> Callable[[str], str]:
    """A check for a web address without a login; `query`: whether a part after `?` is allowed."""
    rest = r"(/[^\s?#@\\]*)?" if not query else r"([/?][^\s#\\]*)?"
    form = re.compile(rf"({'|'.join(schemes)})://{_HOST}({_PORT})?{rest}", re.ASCII)

    def fits(value: str) -> str:
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*@", value):
            raise ValueError("the address has a login in it, which every report would show; write it without one")
        if form.fullmatch(value) is None or _CONTROL.search(value):
            raise ValueError(f"this is not a valid address; write {' or '.join(f'{s}://…' for s in schemes)}")
        return value

    return fits


LINE = AfterValidator(_line)
LineText = Annotated[str, StringConstraints(min_length=1), LINE]
"""Text in one line."""

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
# Of each field the lowest and the highest number, and names in place of numbers from the lowest on.
_CRON: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_CRON_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/([0-9]{1,2}))?", re.ASCII)


def _cron(value: str) -> str:
    fields = value.split()
    if len(fields) != len(_CRON):
        raise ValueError("is not a schedule: write five fields, such as 17 3 * * * for 03:17 (UTC) every day")
    for field, (name, lowest, highest, names) in zip(fields, _CRON, strict=True):
        for part in field.split(","):
            match = _CRON_PART.fullmatch(part)
            if match is None or not _is_cron_range(match, lowest, highest, names):
                allowed = f"numbers from {lowest} to {highest}, *, ranges (2-5), steps (*/2), and lists of them"
                raise ValueError(f"has no such {name}: allowed are {allowed}")
    return value


def _is_cron_range(match: re.Match[str], lowest: int, highest: int, names: list[str]) -> bool:
    numbers = {name: lowest + place for place, name in enumerate(names)}
    ends = [numbers.get(text.upper(), int(text) if text.isdecimal() else -1) for text in match.groups()[:2] if text]
    return ends == sorted(ends) and all(lowest <= end <= highest for end in ends) and match[3] not in ("0", "00")


CronSchedule = Annotated[str, AfterValidator(_cron)]
"""A schedule as CronJobs take it (source: robfig/cron v3, ParseStandard): five fields, without @daily and TZ=."""

PciAddress = Annotated[
    str,
    Spelled(
        r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]",
        "PCI address",
        "dddd:bb:dd.f in lower case with a device from 00 to 1f, such as 0000:0c:00.0",
        repeated=True,
    ),
]
PciId = Annotated[str, Spelled(r"[0-9a-f]{4}", "PCI id", "four lower-case hex digits, such as 101e", repeated=True)]
InterfaceName = Annotated[str, AfterValidator(_interface)]
RdmaDevice = Annotated[
    str,
    # The kernel reserves 64 bytes for a name; `=`, `^`, `,` and `:` are operators in NCCL's lists of devices.
    Spelled(
        r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}",
        "RDMA device",
        "one name of letters, digits, '_', '-' and '.', as `rdma link` shows it, such as mlx5_0",
    ),
]
DnsLabel = Annotated[
    str, Spelled(_DNS_LABEL, "name", "at most 63 lower-case letters, digits and '-', such as gpu-pool")
]
Memory = Annotated[str, Spelled(r"[1-9][0-9]*(Mi|Gi)", "amount of memory", "a whole number and Mi or Gi, such as 4Gi")]
LabelKey = Annotated[
    str,
    Spelled(
        _LABEL_KEY.pattern,
        "key of a label or taint",
        "[domain/]name: a domain in lower case, a name of at most 63 letters, digits, '-', '_' and '.'",
    ),
]
LabelValue = Annotated[
    str, Spelled(_LABEL_VALUE.pattern, "value of a taint or label", "at most 63 letters, digits, '-', '_' and '.'")
]
ObjectName = Annotated[
    str, Spelled(_SUBDOMAIN, "name of an object of Kubernetes", "at most 253 lower-case letters, digits, '-' and '.'")
]
ImageReference = Annotated[str, AfterValidator(_image)]
RegistryName = Annotated[
    str, Spelled(rf"\*|{_REGISTRY}", "registry", "a host with a dot or a port, such as nvcr.io, or '*'")
]
ImageMirror = Annotated[
    str,
    Spelled(
        rf"{_REGISTRY}(/{_PATH})?", "mirror of images", "registry[/path] in lower case, such as mirror.example:5000/gpu"
    ),
]
Guid = Annotated[str, AfterValidator(_guid)]
HttpsAddress = Annotated[str, AfterValidator(web_address("https"))]


# Pulumi passes a date without quotes as midnight of that day, and writes it to the stack file in that form.
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ]00:00:00(\.0+)?( ?\+00:?00)?( ?UTC|Z)?)?")


def _day(value: Any) -> date:
    found = _DAY.fullmatch(str(value))
    try:
        return date.fromisoformat(found[1] if found else "")
    except ValueError:
        raise ValueError("this is not a valid day; write one as year-month-day, such as 2026-12-01") from None


Day = Annotated[date, BeforeValidator(_day, json_schema_input_type=date)]
