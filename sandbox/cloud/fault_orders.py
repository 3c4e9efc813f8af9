"""Faults that a user orders: what each does, and how it is ordered, played at once or taken back."""

from __future__ import annotations

from dataclasses import dataclass

from ..failure import SandboxError
from ..home import SandboxHome
from .digitalocean import events as digitalocean
from .faults import Faults
from .oci import events as oci


@dataclass(frozen=True)
class Fault:
    """A fault's effect. `times`: how often by default; `seconds`: how long, on the simulated clock.

    A fault with neither happens at once, to existing resources.
    """

    about: str
    times: int | None = None
    seconds: int | None = None
    clouds: tuple[str, ...] = ("digitalocean",)


_ALL, _OCI = ("digitalocean", "oci"), ("oci",)
_FAULTS = {
    "rate-limited": Fault("requests are answered 429; the provider tries again, then gives up", times=2, clouds=_ALL),
    "server-error": Fault("requests are answered 500; the provider tries again, then gives up", times=5, clouds=_ALL),
    "cluster-error": Fault("a new cluster fails, and is left behind", times=1, clouds=_ALL),
    "pool-never-ready": Fault(
        "a new pool's nodes do not join in time: the time limit ends, a pool is left behind", times=1, clouds=_ALL
    ),
    "pool-fails": Fault(
        "a new pool is accepted and then fails: a cluster network or node pool is gone, a memory cluster left behind",
        times=1,
        clouds=_OCI,
    ),
    "contract-missing": Fault("a pool of a contracted size is refused (422)", times=1),
    "not-enough-quota": Fault("a new pool or cluster is refused for the account's limit", times=1, clouds=_ALL),
    "vpc-busy": Fault("the next VPC to be deleted has members for so long (409)", seconds=300),
    "credentials-expired": Fault("the date moves on by eight days: every kubeconfig has expired"),
    "version-bumped": Fault("every cluster is upgraded to the next version, as by a forced upgrade"),
    "cluster-gone": Fault("every cluster is deleted behind the stack's back", clouds=_ALL),
    "pool-resized": Fault(
        "every autoscaled pool (at DigitalOcean, or else every pool) gets one node more", clouds=_ALL
    ),
    "default-tag-lost": Fault("every default pool loses the tag that the provider knows it by"),
    "out-of-capacity": Fault(
        "no host is free for GPU machines (500): a pool is not made, or not grown", times=1, clouds=_OCI
    ),
    "image-incompatible": Fault("an image cannot start on its shape", times=1, clouds=_OCI),
    "shape-on-another-page": Fault(
        "a refresh does not find an imported image's shape on the first page of its shapes", times=1, clouds=_OCI
    ),
    "nodes-never-join": Fault("a new pool's machines run, and none becomes a node", times=1, clouds=_OCI),
    "addon-stuck": Fault("a new add-on needs attention until its time limit ends", times=1, clouds=_OCI),
    "addon-busy": Fault(
        "an add-on is not installed or changed while another change is under way (409)", times=2, clouds=_OCI
    ),
    "subnet-busy": Fault("the next subnet to be deleted is in use for so long (409)", seconds=300, clouds=_OCI),
    "not-home-region": Fault(
        "policies and dynamic groups are refused outside the home region (403)", times=1, clouds=_OCI
    ),
    "node-lost": Fault("the newest machine of every self-managed pool is replaced", clouds=_OCI),
    "unjoined-terminated": Fault(
        "machines of pools that have not joined are terminated and created again", clouds=_OCI
    ),
    "configuration-used": Fault("an instance pool of another owner uses every instance configuration", clouds=_OCI),
    "configuration-released": Fault("that instance pool is deleted again", clouds=_OCI),
    "policies-given": Fault("an administrator lets machines join and node pools launch", clouds=_OCI),
}


def names() -> dict[str, str]:
    """The faults there are, with what each does."""
    return {
        name: fault.about if fault.clouds == _ALL else f"{fault.about} [{' '.join(fault.clouds)}]"
        for name, fault in _FAULTS.items()
    }


def add(home: SandboxHome, name: str, times: int | None = None, seconds: int | None = None) -> str:
    """Order a fault, or play it at once if it is of that kind; returns the message for the user.

    Raises SandboxError for an unknown fault, and for an amount that the fault does not accept.
    """
    fault = _FAULTS.get(name)
    if fault is None:
        raise SandboxError(f"no fault {name!r}", f"There are: {', '.join(_FAULTS)}")
    for option, given, taken in (("--times", times, fault.times), ("--seconds", seconds, fault.seconds)):
        if given is not None and taken is None:
            raise SandboxError(f"fault {name} takes no {option}", f"{name}: {fault.about}.")
        if given is not None and given < 1:
            raise SandboxError(f"{option} {given} is too little", "Give a number from 1 on.")
    if fault.times is None and fault.seconds is None:
        # of several clouds, those that a stack has met
        used = [cloud for cloud in fault.clouds if (home.cloud / cloud).exists()] or fault.clouds[:1]
        return "; ".join(_play(home, name, cloud) for cloud in used)
    amount = times or seconds or fault.times or fault.seconds
    with Faults(home.cloud).open() as ordered:
        ordered[name] = amount
    return f"{name}: {fault.about} ({amount} {'times' if fault.times else 's of the simulated clock'})"


def _play(home: SandboxHome, name: str, cloud: str) -> str:
    return oci.play(home, name) if cloud == "oci" else digitalocean.play(home, name)


def clear(home: SandboxHome) -> None:
    """Take back the faults that have not happened yet."""
    with Faults(home.cloud).open() as ordered:
        ordered.clear()
