"""The all-reduce test of NCCL (or RCCL) over the whole fabric, as a job of Volcano or of the MPI operator.

The form is from the OKE guide; ranks, files, networks, devices and settings are from the stack's contract. The guide's
trailing sleep and its algorithm `auto`, which NCCL does not have, are left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gpu_fabric.attach.attachment import Attached, AttachOptions, attach
from gpu_fabric.attach.devices import gpu_resource
from gpu_fabric.base.registries import pulled
from gpu_fabric.base.tables import read_table
from gpu_fabric.base.templates import filled
from gpu_fabric.base.yaml_files import LineDumper
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.fabric import without_channel

SSH_PORT_OF_PODS = 22
SSH_PORT_ON_HOSTS = 2222
"""The port on the nodes' own network, where the usual port is the node's."""

# Seconds in which all workers must answer, from the OKE guide.
_PATIENCE = 600

# Open MPI's own collectives run over the front end, not over a library that searches for NICs.
_MPI_OPTIONS = ("--allow-run-as-root", "-mca", "coll", "^hcoll", "-mca", "coll_hcoll_enable", "0")


@dataclass(frozen=True)
class MpiRun:
    """An all-reduce with one rank per GPU; sizes, steps and check are from the OKE guide.

    `environment` is passed to every rank, since processes started by ssh do not inherit the container's variables.
    """

    nodes: int
    ranks_per_node: int
    environment: Mapping[str, str]
    port: int
    program: str

    def script(self, hosts: str | None = None) -> str:
        """The launcher's script; `hosts` is the host file, unless mpirun gets one in another way."""
        ranks = self.nodes * self.ranks_per_node
        # Open MPI 4 and 5 read the options of ssh from different variables.
        of_ssh = () if self.port == SSH_PORT_OF_PODS else ("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args")
        exports = "".join(f"export {name}='-p {self.port}'\n" for name in of_ssh)
        lines = [
            ("mpirun", *_MPI_OPTIONS),
            ("-np", str(ranks), "--map-by", f"ppr:{self.ranks_per_node}:node", "--bind-to", "numa"),
            *((("-hostfile", hosts),) if hosts else ()),
            *(("-x", f"{name}={value}") for name, value in self.variables().items()),
            (self.program, "-b", "8", "-e", "8G", "-f", "2", "-g", "1", "-c", "1"),
        ]
        command = " \\\n  ".join(shlex.join(line) for line in lines)
        return f"{exports}exec {command}\n"

    def waiting_for(self, hosts: str) -> str:
        """The launcher's script, which first waits until each host of a file answers."""
        return (
            f"for host in $(cat {hosts}); do\n"
            f'  until ssh -p {self.port} -o ConnectTimeout=5 "$host" true; do\n'
            f'    [ "$SECONDS" -lt {_PATIENCE} ] || {{ echo "$host does not answer" >&2; exit 1; }}\n'
            "    sleep 3\n"
            "  done\n"
            "done\n"
        ) + self.script(hosts)

    def server(self) -> str:
        """The worker's command: the ssh server, which starts the ranks."""
        return f"mkdir -p /var/run/sshd && exec /usr/sbin/sshd -De -p {self.port}"

    def variables(self) -> dict[str, str]:
        """The variables of every rank: its environment, and those that keep Open MPI on the front end."""
        chosen = {"NCCL_DEBUG": "WARN", "UCX_TLS": "tcp"}
        # With a leading `=`, NCCL's value is a whole name, not a prefix; UCX accepts whole names only.
        before, _, front_end = self.environment.get("NCCL_SOCKET_IFNAME", "").partition("=")
        if not before and front_end.isalnum():
            chosen["UCX_NET_DEVICES"] = front_end
        return {**chosen, **self.environment}


_NAME = "nccl-all-reduce"
_MANIFESTS = Path(__file__).with_name("manifests.yaml")
_WORKER = "mpiworker"
# Where Volcano's plug-in `svc` writes the names of a task's pods.
_HOSTS = f"/etc/volcano/{_WORKER}.host"


class JobScheduler(StrEnum):
    """The scheduler that runs the job."""

    VOLCANO = "volcano"
    MPI_OPERATOR = "mpi-operator"


class JobError(ValueError):
    """The job cannot be generated from the stack's contract; the message gives the reason and the remedy."""


class NcclTest(NamedTuple):
    """The user's options: `nodes` are all of the stack's by default, `program` is a path in the image."""

    scheduler: JobScheduler
    image: str
    program: str = "all_reduce_perf"
    nodes: int | None = None
    namespace: str | None = None


def nccl_test(contract: FabricContract, wish: NcclTest) -> Attached:
    """The job's manifest with its workers attached to the fabric, and notes for the user.

    Raises:
        JobError: the stack has fewer nodes, or its NICs are not NCCL's.
        AttachError: the fabric is not offered in the namespace.
    """
    nodes = contract.nodes if wish.nodes is None else wish.nodes
    if not 1 <= nodes <= contract.nodes:
        raise JobError(f"the stack has {contract.nodes} GPU nodes, and the job is for {nodes}; write --nodes to fit")
    if contract.huge_pages is not None:
        raise JobError("the stack's NICs are for DPDK, which NCCL does not use; take a stack without fabric.dpdk")
    namespace = wish.namespace or contract.namespaces[0]
    if not any(domain.nodes >= nodes and domain.namespace == namespace for domain in contract.domains[:1]):
        contract = without_channel(contract)
    run = MpiRun(
        nodes=nodes,
        ranks_per_node=contract.gpus_per_node,
        environment=contract.environment | contract.verification_environment,
        port=SSH_PORT_ON_HOSTS if contract.host_network else SSH_PORT_OF_PODS,
        program=wish.program,
    )
    wish = wish._replace(image=pulled(contract.image_registries, wish.image))
    metadata = {"name": _NAME, "namespace": namespace}
    options = AttachOptions(containers=(_WORKER,), libraries=("none",))
    made = attach([_job(contract, wish, run, metadata)], contract, options)
    # The program's own job always gets the fabric, so that note is left out.
    return made._replace(notes=tuple(note for note in made.notes if note.id != "ATT063"))


def manifest_text(manifest: dict[str, Any]) -> str:
    """A manifest as YAML, with scripts line by line."""
    text: str = yaml.dump(manifest, Dumper=LineDumper, sort_keys=False, width=120)
    return text


def manifest(name: str, contract: FabricContract, /, **values: Any) -> dict[str, Any]:
    """A manifest of `manifests.yaml` with these values, and with the stack's Secrets for pulling images if it has some.

    Raises:
        KeyError: there is no such manifest, or a value is missing.
    """
    secrets = [{"name": secret} for secret in contract.image_pull_secrets] or None
    found: dict[str, Any] = filled(read_table(_MANIFESTS)[name], {"pullSecrets": secrets, **values})
    return found


def _job(contract: FabricContract, wish: NcclTest, run: MpiRun, metadata: dict[str, Any]) -> dict[str, Any]:
    volcano = wish.scheduler is JobScheduler.VOLCANO
    command = run.waiting_for(_HOSTS) if volcano else run.script()
    tolerations = [entry.to_dict() for entry in contract.tolerations]
    gpu, scratch = gpu_resource(contract), {"ephemeral-storage": "1Gi"}
    # GPUs that come with a claim are not requested.
    amounts = {**({gpu: contract.resources[gpu]} if gpu in contract.resources else {}), **scratch}
    return manifest(
        wish.scheduler.value,
        contract,
        metadata=metadata,
        pods=1 + run.nodes,
        nodes=run.nodes,
        ranks=run.ranks_per_node,
        queue=contract.queue_of("volcano", metadata["namespace"]) or "default",
        launcher=manifest("launcher", contract, image=wish.image, command=command, tolerations=tolerations),
        worker=manifest("worker", contract, image=wish.image, command=run.server(), port=run.port, amounts=amounts),
    )
