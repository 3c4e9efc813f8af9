"""Variables that keep a program off the fabric (`variables.yaml`): in a workload's containers, and in stack files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from gpu_fabric.attach.devices import gpu_resource
from gpu_fabric.attach.place import Place, display
from gpu_fabric.base.tables import read_rows
from gpu_fabric.contract import FabricContract
from gpu_fabric.k8s.amounts import amount
from gpu_fabric.model import FrozenModel
from gpu_fabric.nccl.name_list import NameList

_VARIABLES = Path(__file__).with_name("variables.yaml")
_SET = re.compile(r"\b([A-Z][A-Z0-9_]+)=[\"']?(\$\([^)]*\)|[^\s\"';]+)")
# In a script a text in quotes, which stays, or a comment.
_COMMENT = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*")|(?<![^\s;&|()<>])#[^\n]*""")
# Hydra, the launcher of MPICH and Intel MPI, takes name and value as two words.
_IN_TWO_WORDS = ("-genv", "-env")
_MPI = re.compile(r"\b(mpirun|mpiexec|horovodrun)\b")
# How the drivers of NVIDIA's, Broadcom's and AMD's NICs name them (rdma-core, kernel-boot; NCCL's own logs).
_RDMA_DEVICES = ("mlx5", "bnxt_re", "ionic")
_MOST_DEVICES = 256
# Signs of a value that is computed, or that stands for several names.
_NOT_A_LIST = re.compile(r"[\[\]*?$`(]")
_ALL = ("all", "auto-discovery")
_RIGHTS = frozenset({"ALL", "SYS_ADMIN", "SYS_RAWIO"})


class HarmfulVariable(FrozenModel):
    """One row; the comment at the top of `variables.yaml` explains the fields."""

    name: str
    when: Literal[
        "is", "lacks", "leaves-out", "only", "takes", "lists", "mentions", "outside", "fewer", "fixed", "refers",
        "beside", "differs", "empties",
    ] = "is"  # fmt: skip
    values: tuple[str, ...] = ()
    unless: dict[str, tuple[str, ...]] = {}
    without_rights: bool = False
    in_mpi: bool = True
    effect: str = Field(min_length=1)
    instead: str | None = None
    source: str = Field(min_length=1)


class Surroundings(NamedTuple):
    """What a variable is judged by.

    `own` are all variables of the container or stack file, `fabric` those of NCCL that the stack sets for jobs, and
    `lists` the stack's values of variables that name devices. `interfaces` are those of the fabric in the pod. `gpus`
    and `nics` are of the container; 0 where they are not known.
    """

    own: Mapping[str, str]
    fabric: Mapping[str, str]
    lists: Mapping[str, str]
    interfaces: Collection[str]
    gpus: int
    nics: int
    has_rights: bool
    mpi: bool = False


class Harm(NamedTuple):
    """What a variable does to a program on the fabric, and what to write in a stack file instead."""

    effect: str
    instead: str


def harm_of(name: str, value: str, around: Surroundings) -> Harm | None:
    """The harm of a variable; None if it is harmless. The first row that holds counts."""
    return next(_harms(name, value, around, refers=False), None)


def harm_of_reference(name: str, path: str, around: Surroundings) -> Harm | None:
    """The harm of a variable that takes its value from a field of the pod."""
    return next(_harms(name, path, around, refers=True), None)


def excluded_beside(names: Collection[str]) -> frozenset[str]:
    """Variables that are not added in addition to some of the user's own: the library would ignore the user's."""
    rows = read_rows(_VARIABLES, HarmfulVariable)
    return frozenset(other for row in rows if row.when == "beside" and row.name in names for other in row.values)


def note_harmful_variables(template: Place, contract: FabricContract, kind: str) -> None:
    """Note the variables that keep a job off the fabric: `mpirun -x` in a launcher applies to all ranks."""
    inside = template.seen("spec").entries("containers")
    mpi = kind == "MPIJob" or any(_MPI.search(text) for one in inside for key in _TEXTS for text in _texts(one, key))
    for container in inside:
        around = _around(container, contract, mpi)
        for entry in container.entries("env"):
            name, value = entry.content.get("name"), entry.content.get("value")
            if not isinstance(name, str):
                continue
            path = entry.seen("valueFrom").seen("fieldRef").content.get("fieldPath")
            if isinstance(path, str) and (harm := harm_of_reference(name, path, around)):
                entry.note("ATT066", "", f"{name} comes from {path}: {harm.effect}")
            elif isinstance(value, str | int) and (harm := harm_of(name, str(value), around)):
                entry.note("ATT066", "", f"{name} stays {display(value)}: {harm.effect}")
        for key in _TEXTS:
            for name, value in dict.fromkeys(_variables_set_in(container, key)):
                if harm := harm_of(name, value, around):
                    container.note("ATT066", key, f"{name} is {display(value)} there: {harm.effect}")


_TEXTS = ("command", "args", "source")


def _around(container: Place, contract: FabricContract, mpi: bool) -> Surroundings:
    own = {str(entry.content.get("name")): entry.content.get("value") for entry in container.entries("env")}
    resources, security = container.seen("resources"), container.seen("securityContext")
    asked = {**resources.seen("requests").content, **resources.seen("limits").content}.get(gpu_resource(contract))
    # The API server refuses whatever is not a text there.
    stated = (name for name in security.seen("capabilities").values("add") if isinstance(name, str))
    added = {*stated, *contract.capabilities}
    return Surroundings(
        own={name: str(value) for name, value in own.items() if isinstance(value, str | int)},
        fabric=contract.environment,
        lists={name: value for variables in contract.libraries.values() for name, value in variables.items()},
        interfaces=[network.interface for network in contract.networks],
        gpus=contract.gpus_per_node if asked is None else int(amount(asked) or 0),
        nics=nics_of(contract),
        has_rights=security.content.get("privileged") is True or contract.privileged or bool(added & _RIGHTS),
        mpi=mpi,
    )


def nics_of(contract: FabricContract) -> int:
    """The NICs of a pod that takes a whole node; 0 where the contract does not say."""
    claimed = max((claim.nics for claim in contract.claims), default=0)
    return len(contract.networks) or claimed or sum(map(len, contract.gpu_rails))


def _texts(container: Place, key: str) -> list[str]:
    # Argo's `source` is one text, not a list of words.
    words = [container.text(key)] if key == "source" else container.values(key)
    return [word for word in words if isinstance(word, str)]


def _variables_set_in(container: Place, key: str) -> Iterator[tuple[str, str]]:
    texts = _texts(container, key)
    for text in texts:
        yield from _SET.findall(_COMMENT.sub(lambda found: found[1] or "", text))
    for option, name, value in zip(texts, texts[1:], texts[2:], strict=False):
        if option in _IN_TWO_WORDS:
            yield name, value


def _harms(name: str, value: str, around: Surroundings, *, refers: bool) -> Iterator[Harm]:
    for row in read_rows(_VARIABLES, HarmfulVariable):
        if row.name != name or (row.when == "refers") != refers or (around.mpi and not row.in_mpi):
            continue
        if (row.without_rights and around.has_rights) or any(
            _matches(around.own.get(other, ""), patterns) for other, patterns in row.unless.items()
        ):
            continue
        found = _WHEN[row.when](row, value, around)
        if found is not None:
            yield Harm(row.effect.replace("{found}", found), row.instead or "leave it out")


def _matches(text: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(text.lower(), pattern) for pattern in patterns)


def _entries(value: str) -> list[str]:
    return [entry.strip() for entry in value.removeprefix("^").split(",") if entry.strip()]


def _devices(value: str) -> list[str]:
    """The names of devices in a list, without ports; none where it is computed, or takes all or all but some."""
    if value.startswith("^") or _NOT_A_LIST.search(value) or value.lower() in _ALL:
        return []
    return list(dict.fromkeys(entry.partition(":")[0] for entry in _entries(value)))


def _is(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    return value if _matches(value, row.values) else None


def _lacks(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    if value.startswith("^") or _NOT_A_LIST.search(value):
        return None
    return None if any(_matches(entry, row.values) for entry in _entries(value)) else value


def _leaves_out(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    left = {entry.lower() for entry in _entries(value)} if value.startswith("^") else set()
    return value if any(set(group.split(",")) <= left for group in row.values) else None


def _only(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    named = [] if value.startswith("^") or _NOT_A_LIST.search(value) else _entries(value)
    # An RDMA device is named with its port.
    plain = all(":" not in entry and (_matches(entry, row.values) or entry in around.interfaces) for entry in named)
    return ", ".join(named) if named and plain else None


def _takes(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    return _first(filter(NameList.parse(value).takes, around.interfaces))


def _lists(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    return _first(entry for entry in _entries(value) if entry in around.interfaces)


def _mentions(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    return _first(word for word in re.findall(r"[\w.-]+", value) if word in around.interfaces)


def _first(found: Iterator[str]) -> str | None:
    taken = sorted(set(found))
    return None if not taken else taken[0] if len(taken) == 1 else f"{taken[0]} and {len(taken) - 1} more"


def _outside(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    rails = _devices(around.lists.get(row.name, ""))
    if not rails:
        return None
    if value.lower() in _ALL:
        return "all NICs of the node"
    return ", ".join(name for name in _devices(value) if name not in rails) or None


def _fewer(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    named = _devices(value)
    if not named or len(named) >= min(around.gpus, around.nics):
        return None
    return f"{around.gpus} GPUs share {len(named)} of {around.nics} NICs"


def _fixed(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    try:
        return None if ip_address(value.strip("[]")).is_unspecified else value
    except ValueError:
        return None


def _beside(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    return next((other for other in row.values if other in around.own), None)


def _differs(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    """Another variable with another value: NCCL's of the stack, or of two of the user's own the one further up."""
    group = list(row.values)
    earlier = group[: group.index(row.name)]
    stated = {other: around.own[other] for other in earlier if other in around.own}
    stated |= {other: around.fabric[other] for other in group if other in around.fabric and other not in around.own}
    other = next((other for other, text in stated.items() if other != row.name and text != value), None)
    return None if other is None else f"{other} is {stated[other]}"


def _empties(row: HarmfulVariable, value: str, around: Surroundings) -> str | None:
    """The kinds of devices of which a list of exceptions leaves none: pods see those of one maker."""
    if not value.startswith("^"):
        return None
    left = NameList.parse(value)
    gone = [kind for kind in _RDMA_DEVICES if not any(left.takes(f"{kind}_{n}") for n in range(_MOST_DEVICES))]
    return " and ".join(gone) or None


_WHEN: Mapping[str, Callable[[HarmfulVariable, str, Surroundings], str | None]] = {
    "is": _is,
    "lacks": _lacks,
    "leaves-out": _leaves_out,
    "only": _only,
    "takes": _takes,
    "lists": _lists,
    "mentions": _mentions,
    "outside": _outside,
    "fewer": _fewer,
    "fixed": _fixed,
    "refers": _is,
    "beside": _beside,
    "differs": _differs,
    "empties": _empties,
}
