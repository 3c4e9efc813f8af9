"""Rules of the security groups of Oracle's clusters, from `oke_security_rules.yaml`."""

from __future__ import annotations

from typing import Literal

from fabric.model import FrozenModel

SecurityGroup = Literal[
    "control-plane", "workers", "pods", "internal-lb", "public-lb", "operator", "bastion", "file-storage"
]
Peer = Literal[
    "control-plane",
    "workers",
    "pods",
    "internal-lb",
    "public-lb",
    "operator",
    "bastion",
    "file-storage",
    "bastion-service",
    "services",
    "anywhere",
    "vcn",
    "api-clients",
    "bastion-clients",
]
PortRange = tuple[int, int]


class SecurityRuleRow(FrozenModel):
    """One rule of one group; what is None is not restricted. `ports` are first and last, `icmp` type and code."""

    group: SecurityGroup
    direction: Literal["ingress", "egress"]
    peer: Peer
    protocol: Literal["all", "tcp", "udp", "icmp"]
    ports: PortRange | None = None
    source_ports: PortRange | None = None
    icmp: tuple[int, int] | None = None
    needs: Literal["internet"] | None = None
    why: str
