"""Faults that a user orders: what each does, and how it is ordered, played at once or taken back."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gpu_fabric.base.tables import read_table
from gpu_fabric.model import FrozenModel
from ..failure import SandboxError
from ..home import SandboxHome
from .digitalocean import events as digitalocean
from .faults import Faults
from .oci import events as oci


class Fault(FrozenModel):
    """A row of faults.yaml, which explains the fields."""

    about: str
    times: int | None = None
    seconds: int | None = None
    clouds: tuple[str, ...] = ("digitalocean",)


@cache
def _faults() -> dict[str, Fault]:
    table = read_table(Path(__file__).with_name("faults.yaml"))
    return {name: Fault.model_validate(row) for name, row in table.items()}


def names() -> dict[str, str]:
    """The faults there are, with what each does."""
    return {
        name: fault.about if len(fault.clouds) > 1 else f"{fault.about} [{fault.clouds[0]}]"
        for name, fault in _faults().items()
    }


def add(home: SandboxHome, name: str, times: int | None = None, seconds: int | None = None) -> str:
    """Order a fault, or play it at once if it is of that kind; returns the message for the user.

    Raises SandboxError for an unknown fault, and for an amount that the fault does not accept.
    """
    fault = _faults().get(name)
    if fault is None:
        raise SandboxError(f"no fault {name!r}", f"There are: {', '.join(_faults())}")
    for option, given, taken in (("--times", times, fault.times), ("--seconds", seconds, fault.seconds)):
        if given is not None and taken is None:
            raise SandboxError(f"fault {name} takes no {option}", f"{name}: {fault.about}.")
        if given is not None and given < 1:
            raise SandboxError(f"{option} {given} is too little", "Give a number from 1 on.")
    if fault.times is None and fault.seconds is None:
        # of several clouds, those that a stack has met
        used = [cloud for cloud in fault.clouds if (home.cloud / cloud).exists()] or fault.clouds[:1]
        return "; ".join({"oci": oci, "digitalocean": digitalocean}[cloud].play(home, name) for cloud in used)
    amount = times or seconds or fault.times or fault.seconds
    with Faults(home.cloud).open() as ordered:
        ordered[name] = amount
    return f"{name}: {fault.about} ({amount} {'times' if fault.times else 's of the simulated clock'})"


def clear(home: SandboxHome) -> None:
    """Take back the faults that have not happened yet."""
    with Faults(home.cloud).open() as ordered:
        ordered.clear()
