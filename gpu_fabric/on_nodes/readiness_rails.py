"""Proves a node whose NICs pods claim: a rail that fails is closed by a taint of its device, and the node stays open.

It is `readiness_agent.py` with that difference: modes, environment and exit status are the same, and it is in the same
folder. What is planned also has `railTaint`: the DRA driver of the NICs, the key and effect of the taint, and what the
names of the node's DeviceTaintRules begin with. A rail is not looked at while a pod has its NIC, and stays as it was.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# It is a file beside this one, wherever that is mounted.
sys.path.insert(0, str(Path(__file__).parent))
readiness_agent: Any = importlib.import_module("readiness_agent")

Json = dict[str, Any]
Fault = Any

RAILS_CLOSED = "RailsClosed"
_GROUP = "/apis/resource.k8s.io"
_KIND = "devicetaintrules"
_OF_A_RAIL = re.compile(r"rail ([0-9]+)\b")
_LONGEST_MESSAGE = 1024


class RailAgent(readiness_agent.Agent):  # type: ignore[misc]  # known where it runs alone
    """Looks at a node, closes the rails that fail, and writes the condition of the rest."""

    _expected: Json

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._closed: dict[int, list[Fault]] = {}
        self._collection = ""

    def _found(self, node: Json, boot: str, own: dict[str, str | None]) -> tuple[str, str, str]:
        self._closed = {}
        status, reason, message = super()._found(node, boot, own)
        if status == "True" and self._closed:
            texts = (fault.text for _, faults in sorted(self._closed.items()) for fault in faults)
            reason, message = RAILS_CLOSED, "; ".join(dict.fromkeys(texts))[:_LONGEST_MESSAGE]
        return status, reason, message

    def _faults(self, node: Json, *, seen: bool) -> Iterator[Fault]:
        """What closes the whole node: what is of no single rail, and the faults of rails if no rail is left."""
        planned = self._expected
        looked = [rail for rail in planned["rails"] if not (seen and self._is_away(rail))]
        self._expected = {**planned, "rails": looked}
        try:
            found = list(super()._faults(node, seen=seen))
        finally:
            self._expected = planned
        closed: dict[int, list[Fault]] = {}
        for fault in found:
            if (place := _OF_A_RAIL.match(fault.text)) is None:
                yield fault
            else:
                closed.setdefault(int(place[1]), []).append(fault)
        self._write_rules({rail["rail"]: rail["pci"] for rail in looked}, set(closed))
        if len(closed) == len(planned["rails"]):
            yield from (fault for faults in closed.values() for fault in faults)
        self._closed = closed

    def _is_away(self, rail: Json) -> bool:
        """Whether a pod has the rail's NIC: its interface, or of an InfiniBand NIC the RDMA device."""
        function = self._host.function_of(rail)
        if function is None or not (function / "driver").exists():
            return False
        return not readiness_agent.names(function / ("net" if rail["link"] == "ether" else "infiniband"))

    def _write_rules(self, looked: dict[int, str], closed: set[int]) -> None:
        """A DeviceTaintRule for each rail that is closed, and none for the others that were looked at."""
        taint, path = self._expected["railTaint"], self._rules()
        present = {item["metadata"]["name"]: item["metadata"]["uid"] for item in self._api.get(path)["items"]}
        for rail, pci in looked.items():
            name = f"{taint['name']}-{self._name}-{rail:02d}"
            if rail in closed and name not in present:
                # DRANET names devices by their address (v1.4.0, pkg/names/names.go).
                device = "pci-" + pci.replace(":", "-").replace(".", "-")
                selector = {"driver": taint["driver"], "pool": self._name, "device": device}
                spec = {"deviceSelector": selector, "taint": {"key": taint["key"], "effect": taint["effect"]}}
                body = {"apiVersion": path.removeprefix("/apis/").rpartition("/")[0], "kind": "DeviceTaintRule"}
                self._api.create(path, {**body, "metadata": {"name": name}, "spec": spec})
            elif rail not in closed and name in present:
                self._api.delete(f"{path}/{name}", present[name])

    def _rules(self) -> str:
        """The collection of DeviceTaintRules, in the first version of the API that the server serves them in."""
        if not self._collection:
            for entry in self._api.get(_GROUP)["versions"]:
                path = f"{_GROUP}/{entry['version']}"
                if any(kind["name"] == _KIND for kind in self._api.get(path)["resources"]):
                    self._collection = f"{path}/{_KIND}"
                    return self._collection
            raise readiness_agent.Trouble("the API server serves no DeviceTaintRules, by which a rail is closed")
        return self._collection


if __name__ == "__main__":
    readiness_agent.Agent = RailAgent
    sys.exit(readiness_agent.main(sys.argv[1] if len(sys.argv) > 1 else ""))
