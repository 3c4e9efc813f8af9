"""Programs that Open MPI starts on every worker through ssh: the scripts of the launcher and of the workers."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

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

    @property
    def ranks(self) -> int:
        """Ranks of the whole job, one per GPU."""
        return self.nodes * self.ranks_per_node

    def script(self, hosts: str | None = None) -> str:
        """The launcher's script; `hosts` is the host file, unless mpirun gets one in another way."""
        lines = [
            ("mpirun", *_MPI_OPTIONS),
            ("-np", str(self.ranks), "--map-by", f"ppr:{self.ranks_per_node}:node", "--bind-to", "numa"),
            *((("-hostfile", hosts),) if hosts else ()),
            *(("-x", f"{name}={value}") for name, value in self.variables().items()),
            (self.program, "-b", "8", "-e", "8G", "-f", "2", "-g", "1", "-c", "1"),
        ]
        command = " \\\n  ".join(shlex.join(line) for line in lines)
        return f"{self._other_port()}exec {command}\n"

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

    def _other_port(self) -> str:
        """Open MPI 4 and 5 read the options of ssh from different variables."""
        if self.port == SSH_PORT_OF_PODS:
            return ""
        names = ("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args")
        return "".join(f"export {name}='-p {self.port}'\n" for name in names)
