"""The result file of nccl-tests (`-J FILE`): typed, and read without trust in a single byte.

Only what the verdict needs is kept. Of the environment, which may hold secrets, only NCCL's own variables are.
Source: nccl-tests 2.17.3 and later, src/util.cu; what is kept is the same in the formats 1 and 2.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import PurePosixPath
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from fabric.nccl.busbw import Operation

FORMATS = (1, 2)

_PRINTED = re.compile(r"^#|nccl-tests version|out-of-place", re.MULTILINE)
_HALF_A_VALUE = re.compile(r"|nu?l?|-|\.|[eE][+-]?")
"""What may be left where a file is cut: nothing, or a part of `null` or of a number."""


class ResultError(ValueError):
    """The file is no result of nccl-tests; the text says why, and what to do."""


class EndsTooEarly(ValueError):
    """The file is the beginning of a result: the run wrote it, and did not come to its end."""


def _number(value: Any) -> float | None:
    """A number as nccl-tests writes it; None for one that is missing or not finite."""
    if value is None or value in ("nan", "-nan", "inf", "-inf"):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("no number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("no number of nccl-tests") from None
    return number if math.isfinite(number) else None


def _flag(value: Any) -> bool | None:
    return (
        {"true": True, "false": False, True: True, False: False}.get(value) if isinstance(value, str | bool) else None
    )


Number = Annotated[float | None, BeforeValidator(_number)]
Flag = Annotated[bool | None, BeforeValidator(_flag)]
Count = Annotated[StrictInt, Field(ge=0, lt=2**64)]


class _Part(BaseModel):
    """A part of the file; keys that the verdict does not need are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Measurement(_Part):
    """One size, out of place or in place: microseconds, GB/s, and wrong values (None: not checked)."""

    time: Number = None
    alg_bw: Number = None
    bus_bw: Number = None
    nwrong: Number = None


class Row(_Part):
    """One line of the table; `size` in bytes."""

    size: Count
    out_of_place: Measurement | None = None
    in_place: Measurement | None = None


class Device(_Part):
    """One process of the run, and the first of its GPUs."""

    rank: Count
    group: Count = 0
    hostname: StrictStr = Field(min_length=1)
    device: Count
    device_hex: StrictStr = ""


class Config(_Part):
    """How the test was started. Sizes in bytes; `validation` is 0 where no values were checked."""

    nthreads: Annotated[StrictInt, Field(ge=1, le=4096)]
    ngpus: Annotated[StrictInt, Field(ge=1, le=4096)]
    minimum_bytes: Count
    maximum_bytes: Count
    step_factor: Count | None = None
    step_bytes: Count | None = None
    validation: Count = 0
    devices: tuple[Device, ...] = ()


class OutOfBounds(_Part):
    """Values out of bounds over the whole run."""

    count: Count
    okay: Flag = None


class Average(_Part):
    """What nccl-tests says of its own bar (NCCL_TESTS_MIN_BW); None where it had none."""

    okay: Flag = None


class NcclResult(_Part):
    """A whole result; what only the end of a run writes is None where it is missing."""

    version: StrictInt
    args: tuple[StrictStr, ...] = ()
    env: tuple[StrictStr, ...] = ()
    nccl_version: StrictInt
    config: Config
    results: tuple[Row, ...] = ()
    out_of_bounds: OutOfBounds | None = None
    average_bus_bandwidth: Average | None = None
    errors: tuple[StrictStr, ...] = ()
    end_time: StrictStr | None = None

    @property
    def program(self) -> str:
        """The test that ran, such as all_reduce_perf; empty where the file does not say."""
        return PurePosixPath(self.args[0]).name if self.args else ""

    @property
    def operation(self) -> Operation | None:
        """The operation that was measured; None for one without a known formula."""
        name = self.program.removesuffix("_perf")
        return Operation(name) if name in set(Operation) else None

    @property
    def nccl_environment(self) -> dict[str, str]:
        """NCCL's variables of the first process."""
        pairs = (entry.partition("=") for entry in self.env)
        return {name: value.strip() for name, _, value in pairs if name.startswith(("NCCL_", "RCCL_"))}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Host names, in the order of their first rank."""
        return tuple(dict.fromkeys(device.hostname for device in self.config.devices))

    @property
    def ranks(self) -> int:
        """GPUs that took part; a process with several shows only its first in the file."""
        return len(self.config.devices) * self.config.nthreads * self.config.ngpus

    @property
    def ring(self) -> bool:
        """Whether NCCL was told to use rings and nothing else."""
        return self.nccl_environment.get("NCCL_ALGO", "").lower() == "ring"

    @property
    def nvlink(self) -> bool | None:
        """Whether NCCL was told to use NVLink between nodes; None where it was told nothing that is understood."""
        return {"0": False, "1": True}.get(self.nccl_environment.get("NCCL_MNNVL_ENABLE", ""))


def read_result(data: bytes) -> NcclResult:
    """The result in a file.

    Raises:
        EndsTooEarly: the file is the beginning of a result.
        ResultError: the file is anything else.
    """
    text = _text(data)
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and _cut(text, error):
            raise EndsTooEarly from None
        raise ResultError(f"no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except ResultError:
        raise
    except (ValueError, RecursionError):
        raise ResultError("no JSON that nccl-tests writes") from None
    return _validated(document)


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ResultError("no UTF-8 text") from None
    if not text.strip():
        raise ResultError("the file is empty: nccl-tests opened it and never wrote, or it was not copied")
    if not text.lstrip().startswith(("{", "[")) and _PRINTED.search(text):
        raise ResultError(
            "this is what nccl-tests prints, which is made for people: run the test with `-J FILE` "
            "(nccl-tests 2.17.3 or later) and give that file"
        )
    return text


def _cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether JSON is right up to the end of the text, and only goes no further."""
    return (
        error.msg.startswith("Unterminated string") or _HALF_A_VALUE.fullmatch(text[error.pos :].rstrip()) is not None
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ResultError("a key is there twice in one object, which nccl-tests never writes")
    return found


def _no_number(_: str) -> NoReturn:
    raise ResultError("a number that is not finite, which JSON does not have")


def _validated(document: Any) -> NcclResult:
    if not isinstance(document, dict) or "nccl_version" not in document:
        raise ResultError("JSON, but no result of nccl-tests: it has no `nccl_version`; give the file of `-J FILE`")
    if document.get("version") not in FORMATS:
        known = " or ".join(map(str, FORMATS))
        raise ResultError(f"a result of nccl-tests, but not in format {known}, which this version reads")
    try:
        return NcclResult.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ResultError(f"no result of nccl-tests: {place}: {first['msg']}") from None
