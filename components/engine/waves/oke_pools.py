"""Managed node pools at Oracle and their machines, by the user's own OCI command line.

The keys of its JSON are those of the API, with dashes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpu_fabric.plan.records import PlannedMachines

from ..cluster_api import RequestError

PROGRAM = "oci"
# Seconds for one command; those here ask or order, and none waits for a machine.
_LIMIT = 120
# For so long Oracle evicts the pods left on a node, whose jobs have ended; then it deletes them with the machine.
_GRACE = "PT5M"
_BUSY = 409
_LEAVING = ("DELETING", "DELETED")

Ask = Callable[..., Any]
"""A command of the OCI command line, by its words; gives the JSON that it prints. Raises RequestError."""


class Pool(NamedTuple):
    """A node pool as it makes its next machine: its id, the image and the version."""

    id: str
    image: str
    version: str


class OkePools:
    """The pools of a plan, of the cluster with this id."""

    def __init__(self, planned: PlannedMachines, cluster: str, ask: Ask) -> None:
        self._planned = planned
        self._cluster = cluster
        self._ask = ask

    def pools(self) -> dict[str, Pool]:
        """The pools by name. Raises RequestError."""
        listed = self._rows("ce", "node-pool", "list", "--cluster-id", self._cluster, "--all", *self._compartment)
        return {
            str(row["name"]): Pool(
                str(row["id"]),
                str((row.get("node-source-details") or {}).get("image-id") or ""),
                str(row.get("kubernetes-version") or ""),
            )
            for row in listed
            if row.get("name") in self._planned.pools and row.get("lifecycle-state") not in _LEAVING
        }

    def has(self, pool: Pool, machine: str) -> bool:
        """Whether a machine is in the pool, and Oracle does not take it away already. Raises RequestError."""
        return any(row.get("id") == machine and row.get("lifecycle-state") not in _LEAVING for row in self._nodes(pool))

    def errors(self, pool: Pool) -> str:
        """What Oracle says of machines that the pool could not launch; empty if nothing. Raises RequestError."""
        found = ((row.get("node-error") or {}).get("message") for row in self._nodes(pool))
        return "; ".join(sorted({" ".join(str(text).split()) for text in found if text}))

    def images(self) -> dict[str, str]:
        """The image of each machine in the compartment, by the machine's id. Raises RequestError."""
        listed = self._rows("compute", "instance", "list", "--all", *self._compartment)
        return {
            str(row["id"]): str((row.get("source-details") or {}).get("image-id") or row.get("image-id") or "")
            for row in listed
        }

    def replace(self, pool: Pool, machine: str) -> bool:
        """Order that a machine goes and the pool stays as large as it is; false while Oracle is busy with the pool.

        Raises RequestError.
        """
        try:
            self._ask(
                *("ce", "node-pool", "delete-node", "--node-pool-id", pool.id, "--node-id", machine),
                *("--is-decrement-size", "false", "--override-eviction-grace-duration", _GRACE),
                *("--is-force-deletion-after-override-grace-duration", "true", "--force", *self._region),
            )
        except RequestError as error:
            if error.status != _BUSY:
                raise
            return False
        return True

    @property
    def _region(self) -> tuple[str, ...]:
        return ("--region", self._planned.region)

    @property
    def _compartment(self) -> tuple[str, ...]:
        return ("--compartment-id", self._planned.compartment, *self._region)

    def _nodes(self, pool: Pool) -> list[Mapping[str, Any]]:
        answer = self._ask("ce", "node-pool", "get", "--node-pool-id", pool.id, *self._region)
        return list(((answer or {}).get("data") or {}).get("nodes") or ())

    def _rows(self, *words: str) -> list[Mapping[str, Any]]:
        # The command prints nothing for an empty list.
        return list((self._ask(*words) or {}).get("data") or ())


def ask_oracle(*words: str) -> Any:
    """What a command of the OCI command line prints, with the login that it has.

    Raises:
        RequestError: it is missing, failed, or printed no JSON. Of Oracle's answer, code and message are repeated.
    """
    shown = " ".join((PROGRAM, *words[:3]))
    program = shutil.which(PROGRAM)
    if program is None:
        raise RequestError(0, f"{PROGRAM} is not on PATH")
    try:
        done = subprocess.run(
            [program, *words, "--output", "json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError) as error:
        raise RequestError(0, f"`{shown}` did not end well ({type(error).__name__})") from None
    if done.returncode != 0:
        refusal = _refusal(done.stderr)
        said = f"{refusal.get('code')}: {refusal.get('message')}" if refusal else "run it to see why"
        status = refusal.get("status")
        raise RequestError(status if isinstance(status, int) else 0, f"`{shown}` failed: {said}")
    try:
        return json.loads(done.stdout) if done.stdout.strip() else None
    except ValueError:
        raise RequestError(0, f"`{shown}` printed no JSON") from None


def _refusal(text: str) -> dict[str, Any]:
    """The ServiceError that the command prints as JSON after a word; empty if it is something else."""
    try:
        found = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    except ValueError:
        return {}
    return found if isinstance(found, dict) and "code" in found else {}
