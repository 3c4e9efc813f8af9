"""Questions to the programs that hold the code of Whereabouts, Multus and operators, and their answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asked_programs import ask

Json = dict[str, Any]


class Given(NamedTuple):
    """The addresses that pods got in turn, with prefix lengths, the network's gateway, and why the next pod got none.

    `addresses` is empty where the configuration itself was refused.
    """

    addresses: list[str]
    gateway: str | None
    error: str | None


class Delegate(NamedTuple):
    """A network that Multus attaches: `name` has its namespace, `device` is what its plug-in must take.

    `interface` is the one that the pod asks for; without, Multus names the n-th network's `net<n>`. `config` is the
    configuration that the plug-ins get.
    """

    name: str
    interface: str
    resource: str
    device: str
    mac: str
    ips: list[str] | None
    config: Json


class Attachments(NamedTuple):
    """The cluster's own network, then those of the annotation in its order; or why the pod gets none."""

    delegates: list[Delegate]
    error: str | None


class Programs:
    """The built programs; each call starts one of them for a list of questions."""

    def __init__(self, ipam: Path, spiderpool: Path, sriov: Path) -> None:
        self._ipam, self._spiderpool, self._sriov = ipam, spiderpool, sriov

    def definitions(self) -> list[Path]:
        """The modules' own files with a definition each."""
        return [*(self._ipam / "definitions").glob("*_*.yaml"), self._ipam / "networks-crd.yaml"]

    def whereabouts(self, questions: Sequence[Json]) -> list[Given]:
        """What pods get: `config` of a network, `pods` that come, and the runs of addresses that others `held`."""
        answers = ask(self._ipam / "whereabouts", questions)
        return [Given(entry["addresses"] or [], entry.get("gateway"), entry.get("error")) for entry in answers]

    def multus(self, questions: Sequence[Json]) -> list[Attachments]:
        """What a `pod` is attached to: the cluster's `networks`, and its `devices`, a number for each resource."""
        answers = ask(self._ipam / "multus", questions)
        return [
            Attachments([Delegate(**found) for found in entry["delegates"] or ()], entry.get("error"))
            for entry in answers
        ]

    def spiderpool(self, configs: Sequence[Json], pods: Sequence[Json]) -> tuple[list[Json], list[Json]]:
        """The definitions of Spiderpool's networks, and the pods after its webhook."""
        answers = ask(self._spiderpool, [{"configs": configs, "pod": pod} for pod in pods])
        assert [entry["error"] for entry in answers if "error" in entry] == []
        return answers[0]["networks"] or [], [entry["pod"] for entry in answers]

    def sriov(self, questions: Sequence[Json]) -> list[Json]:
        """The definitions of the SR-IOV operator's networks: each `network` with the `prefix` of its resources."""
        return ask(self._sriov, questions)
