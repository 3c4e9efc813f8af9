"""Stands in for Oracle's command `oci`, as far as a simulated cluster's kubeconfig and the waves of a stack ask it.

`ce cluster generate-token` for a token; `ce node-pool list`, `get` and `delete-node`, and `compute instance list`: what
they take and print is as in the OCI command line 3.95, in the keys that the waves read. A deleted node is gone, and
another one there, when the command ends; Oracle takes its time for it. Other options that are known are not looked at.
OCI_CLI_CONFIG_FILE must name the sandbox's own configuration.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ...failure import SandboxError
from ...home import SandboxHome
from ..exec_credential import credential, run
from ..requests import Refused
from .credentials import credentials, is_configured

_LIFETIME = datetime.timedelta(minutes=4)
_ANYWHERE = ("--region", "--profile", "--auth", "--output")

Options = argparse.Namespace


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SandboxError(f"the sandbox's oci knows no other commands than: {', '.join(_COMMANDS)} ({message})")


def answer(arguments: Sequence[str], environment: Mapping[str, str], home: SandboxHome) -> str:
    """What the command prints. Raises SandboxError for any other command, account or object."""
    name = " ".join(arguments[:3])
    if name not in _COMMANDS:
        _Parser(prog="oci").error(name)
    command, needed, flags = _COMMANDS[name]
    parser = _Parser(prog="oci", add_help=False, allow_abbrev=False)
    for option in needed:
        parser.add_argument(option, required=True)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    for option in _ANYWHERE:
        parser.add_argument(option)
    given = parser.parse_args(list(arguments[3:]))
    if given.auth not in (None, "api_key") or not is_configured(credentials(home), environment):
        raise SandboxError("OCI_CLI_CONFIG_FILE does not name the configuration of the simulated account")
    try:
        return command(home, given)
    except Refused as refused:
        code, _, message = str(refused).partition(", ")
        said = {"status": refused.status, "code": code, "message": message}
        raise SandboxError(f"ServiceError:\n{json.dumps(said, indent=4)}") from None


def _token(home: SandboxHome, given: Options) -> str:
    return credential(home, given.cluster_id, _LIFETIME)


def _pools(home: SandboxHome, given: Options) -> str:
    from .provider import open_tenancy

    pools = open_tenancy(home).store.list("nodepool")
    here = [_pool(pool) for pool in pools if pool["inputs"]["clusterId"] == given.cluster_id]
    return json.dumps({"data": here}) if here else ""


def _pool_with_nodes(home: SandboxHome, given: Options) -> str:
    from .provider import open_tenancy

    tenancy = open_tenancy(home)
    with tenancy.store.lock():
        pool = tenancy.found(given.node_pool_id)
    nodes = [
        {"id": node["id"], "kubernetes-version": node["version"], "lifecycle-state": "ACTIVE", "node-error": None}
        for node in pool["nodes"]
    ]
    return json.dumps({"data": {**_pool(pool), "nodes": nodes}})


def _pool(record: Mapping[str, Any]) -> dict[str, Any]:
    inputs = record["inputs"]
    return {
        "id": record["id"],
        "name": inputs["name"],
        "lifecycle-state": "ACTIVE",
        "kubernetes-version": inputs["kubernetesVersion"],
        "node-source-details": {
            "source-type": "IMAGE",
            "image-id": (inputs.get("nodeSourceDetails") or {}).get("imageId"),
        },
    }


def _delete_node(home: SandboxHome, given: Options) -> str:
    from .node_pools import NodePool
    from .provider import open_tenancy

    tenancy = open_tenancy(home)
    tenancy.region = given.region or tenancy.region
    smaller = given.is_decrement_size.lower() != "false"
    NodePool(tenancy).replace(given.node_pool_id, given.node_id, smaller=smaller)
    return ""


def _instances(home: SandboxHome, given: Options) -> str:
    from .provider import open_tenancy

    pools = open_tenancy(home).store.list("nodepool")
    found = [
        {"id": node["id"], "source-details": {"source-type": "image", "image-id": node["image"]}}
        for pool in pools
        if pool["inputs"]["compartmentId"] == given.compartment_id
        for node in pool["nodes"]
    ]
    return json.dumps({"data": found}) if found else ""


# Command -> what answers, and the options and switches that it takes.
_COMMANDS: dict[str, tuple[Callable[[SandboxHome, Options], str], tuple[str, ...], tuple[str, ...]]] = {
    "ce cluster generate-token": (_token, ("--cluster-id",), ()),
    "ce node-pool list": (_pools, ("--cluster-id", "--compartment-id"), ("--all",)),
    "ce node-pool get": (_pool_with_nodes, ("--node-pool-id",), ()),
    "ce node-pool delete-node": (
        _delete_node,
        (
            *("--node-pool-id", "--node-id", "--is-decrement-size"),
            *("--override-eviction-grace-duration", "--is-force-deletion-after-override-grace-duration"),
        ),
        ("--force",),
    ),
    "compute instance list": (_instances, ("--compartment-id",), ("--all",)),
}


if __name__ == "__main__":
    run(answer)
