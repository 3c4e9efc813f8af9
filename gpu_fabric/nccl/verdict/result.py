"""Read the result file of nccl-tests (`-J FILE`) into typed models, and what a result is compared with.

Every byte is treated as untrusted input. Only the fields that the verdict needs are kept. The environment may contain
secrets: only NCCL's own variables are read from it. Source: nccl-tests 2.17.3 to 2.20.0, src/util.cu; these fields are
the same in the formats 1 to 3.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from gpu_fabric.catalog import Shape
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, Operation, given_bar, shape_bar
from gpu_fabric.nccl.verdict.point_to_point import PointToPoint
from nccl_topology.c_numbers import c_integer

FORMATS = (1, 2, 3)

_OPTION = re.compile(r"-([A-Za-z])(.+)?|--([a-z_]{2,})(?:=(.*))?", re.DOTALL)
_PRINTED = re.compile(r"^#|nccl-tests version|out-of-place", re.MULTILINE)
_HALF_A_VALUE = re.compile(r"|nu?l?|-|\.|[eE][+-]?")
"""The possible rest at the end of a truncated file: nothing, or a part of `null` or of a number."""


class ResultError(ValueError):
    """The file is not a result of nccl-tests; the message gives the reason and the remedy."""


class EndsTooEarly(ValueError):
    """The file is the beginning of a result: the run wrote it but did not end."""


def _number(value: Any) -> float | None:
    """A number as nccl-tests writes it; None if it is missing or not finite."""
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
    """A part of the file; keys that the verdict does not need are ignored."""

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
    actual_iterations: StrictInt | None = None


class Device(_Part):
    """One process of the run, and the first of its GPUs."""

    rank: Count
    group: Count = 0
    hostname: StrictStr = Field(min_length=1)
    device: Count
    device_hex: StrictStr = ""


class Config(_Part):
    """The parameters of the test. Sizes are in bytes; `validation` is 0 if no values were checked."""

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
    """The result against nccl-tests' own bar (NCCL_TESTS_MIN_BW); None if that was not set."""

    okay: Flag = None


class NcclResult(_Part):
    """A whole result; fields that only the end of a run writes are None if they are missing."""

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

    def option(self, letter: str, name: str) -> int | None:
        """The number of an option of the test, the last one if it is repeated; None if the option was not given.

        All of nccl-tests' options take a value, and a long name may be shortened (source: nccl-tests' src/common.cu).
        """
        found = None
        words = iter(self.args[1:])
        for word in words:
            if (match := _OPTION.fullmatch(word)) is not None:
                short, joined, long, value = match.groups()
                given = joined if short else value
                text = next(words, "") if given is None else given
                if short == letter or (long is not None and name.startswith(long)):
                    found = c_integer(text)
        return found

    @property
    def program(self) -> str:
        """The test that ran, such as all_reduce_perf; empty if the file does not name it."""
        return PurePosixPath(self.args[0]).name if self.args else ""

    @property
    def operation(self) -> Operation | None:
        """The operation that was measured; None for one without a known formula.

        A build may append a suffix to the tests' names, as in all_reduce_perf_mpi (NAME_SUFFIX in nccl-tests'
        src/Makefile).
        """
        name = re.sub(r"_perf(?:[_.-][\w.-]*)?$", "", self.program, count=1)
        return Operation(name) if name != self.program and name in set(Operation) else None

    @property
    def nccl_environment(self) -> dict[str, str]:
        """NCCL's variables of the first process; of a repeated variable the first, which the C library returns."""
        found: dict[str, str] = {}
        for name, _, value in (entry.partition("=") for entry in self.env):
            if name.startswith(("NCCL_", "RCCL_")):
                found.setdefault(name, value.strip())
        return found

    def with_settings(self, settings: Mapping[str, str]) -> NcclResult:
        """The result with variables as NCCL's log names them, which counts before the environment of one process."""
        return self.model_copy(update={"env": (*(f"{name}={value}" for name, value in settings.items()), *self.env)})

    @property
    def nodes(self) -> tuple[str, ...]:
        """Host names, in the order of their first rank."""
        return tuple(dict.fromkeys(device.hostname for device in self.config.devices))

    @property
    def ranks(self) -> int:
        """The number of GPUs that took part; the file lists only the first GPU of each process."""
        return len(self.config.devices) * self.config.nthreads * self.config.ngpus

    @property
    def ring(self) -> bool:
        """Whether NCCL was configured to use only rings."""
        return self.algorithms == "ring"

    @property
    def algorithms(self) -> str:
        """The value of NCCL_ALGO for the operation, in lower case: since 2.24 it may have a list per operation."""
        said, own = "", str(self.operation or "").replace("_", "")
        for part in self.nccl_environment.get("NCCL_ALGO", "").lower().split(";"):
            operation, colon, names = part.partition(":")
            if not colon:
                said = operation.strip()
            elif operation.strip() == own:
                return names.strip()
        return said

    @property
    def reduces_in_switches(self) -> bool:
        """Whether NCCL may have reduced the data in the switches (SHARP), which sends less than a ring does."""
        allowed = self.algorithms
        if "collnet" in allowed and not allowed.startswith("^"):
            return True
        return self.nccl_environment.get("NCCL_COLLNET_ENABLE", "0") not in ("", "0") and not self.ring

    @property
    def nvlink(self) -> bool | None:
        """Whether NVLink between nodes was configured on or off; None if it was not, or the value is unknown."""
        return {"0": False, "1": True}.get(self.nccl_environment.get("NCCL_MNNVL_ENABLE", ""))


def read_result(data: bytes) -> NcclResult:
    """The result in a file.

    Raises:
        EndsTooEarly: the file is the beginning of a result.
        ResultError: the file is anything else.
    """
    text = _decode(data)
    try:
        document = json.loads(text, object_pairs_hook=refuse_repeated_keys, parse_constant=_refuse_non_finite)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and _is_truncated(text, error):
            raise EndsTooEarly from None
        raise ResultError(f"no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except ResultError:
        raise
    except (ValueError, RecursionError):
        raise ResultError("no JSON that nccl-tests writes") from None
    return _validate(document)


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ResultError("no UTF-8 text") from None
    if not text.strip():
        raise ResultError("the file is empty: nccl-tests opened it and never wrote, or it was not copied")
    if not text.lstrip().startswith(("{", "[")) and _PRINTED.search(text):
        raise ResultError(
            "this is what nccl-tests prints, which is for people: run the test with `-J FILE` "
            "(nccl-tests 2.17.3 or later) and give that file"
        )
    return text


def _is_truncated(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the text is valid JSON that is only truncated at its end."""
    return (
        error.msg.startswith("Unterminated string") or _HALF_A_VALUE.fullmatch(text[error.pos :].rstrip()) is not None
    )


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, in which no key may be twice. Raises ResultError."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ResultError("a key is there twice in one object, which nccl-tests never writes")
    return found


def _refuse_non_finite(_: str) -> NoReturn:
    raise ResultError("a number that is not finite, which JSON does not have")


def _validate(document: Any) -> NcclResult:
    if not isinstance(document, dict) or "nccl_version" not in document:
        raise ResultError("JSON, but no result of nccl-tests: it has no `nccl_version`; give the file of `-J FILE`")
    if document.get("version") not in FORMATS:
        known = ", ".join(map(str, FORMATS[:-1])) + f" or {FORMATS[-1]}"
        raise ResultError(f"a result of nccl-tests, but not in format {known}, which this version reads")
    try:
        return NcclResult.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ResultError(f"no result of nccl-tests: {place}: {first['msg']}") from None


@dataclass(frozen=True)
class Expectation:
    """The expectations on a run.

    `shapes` are those of the stack's nodes, which use `rails` NICs each; empty if no stack was named. `nodes` is the
    minimum number of nodes, `bar` the user's bar in GB/s, `rail_bar` the user's bar for one rail; `bars_from` names the
    place where the user set them. `each_rail`: every rail must have been measured alone, not only those of the run.
    `point_to_point` is what is asked of the rails between two nodes, by UCX.
    """

    shapes: tuple[Shape, ...] = ()
    rails: int | None = None
    nodes: int | None = None
    bar: float | None = None
    operation: Operation = Operation.ALL_REDUCE
    rail_bar: float | None = None
    bars_from: str = "--bar"
    each_rail: bool = False
    point_to_point: PointToPoint | None = None

    @property
    def gpus(self) -> set[int]:
        """The possible numbers of GPUs of a node; empty if that is not known."""
        return {shape.gpus.count for shape in self.shapes}

    def bar_of(self, result: NcclResult) -> Bar:
        """The bar for a run; with several shapes, the lowest.

        The user's bar replaces the derived one; the maximum of a ring over the rails stays.

        Raises:
            BarUnknownError: no bar can be derived.
        """
        if self.bar is None:
            return self._derived(result)
        most = None
        if result.ring:
            with suppress(BarUnknownError):
                most = self._derived(result).most
        return given_bar(self.bar, self.bars_from).model_copy(update={"most": most})

    def _derived(self, result: NcclResult) -> Bar:
        return self.lowest_bar(self.rails, nodes=len(result.nodes), ring=result.ring, nvlink=result.nvlink)

    def lowest_bar(self, rails: int | None, *, nodes: int, ring: bool, nvlink: bool | None) -> Bar:
        """The lowest derived bar of the shapes, with so many rails each, or with all of theirs.

        Raises:
            BarUnknownError: no bar can be derived.
        """
        of_shape = partial(shape_bar, nodes=nodes, ring=ring, nvlink=nvlink, operation=self.operation)
        bars = [of_shape(shape, shape.rails if rails is None else rails) for shape in self.shapes]
        if not bars:
            raise BarUnknownError("no stack was named")
        return min(bars, key=lambda bar: bar.value)
