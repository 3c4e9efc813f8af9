"""The processes of the control plane: arguments, dependencies and readiness checks."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from .certificates import Pki
from .controllers.egress import configuration as egress_configuration
from .home import PACKAGE, SandboxHome, project_root, write_private
from .toolchain.build import Toolchain


def write_egress_file(home: SandboxHome) -> None:
    """Write where the API server finds its way to Services."""
    write_private(home.egress, yaml.safe_dump(egress_configuration(home.egress_socket), sort_keys=False))


# KWOK, with a single client for all nodes and pods, and the controllers are held back by the default rates
_CLIENT_RATES = ("--kube-api-qps=300", "--kube-api-burst=600")
# Seconds. A node that KWOK plays is lost only with KWOK; with the usual ones a few hundred nodes' leases alone keep a
# processor busy.
_LEASE, _GRACE = 200, 300
# What a few hundred nodes and their pods cost is collecting garbage, if it is done as soon as usual.
_COLLECTING = (("GOGC", "400"), ("GOMEMLIMIT", "1500MiB"))


@dataclass(frozen=True)
class Service:
    """One supervised process.

    ``needs`` names the services that must be ready before it starts and whose restart restarts it too;
    ``health`` is the HTTPS path that answers 200 when it is ready (None: running is ready).
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    health: str | None = None
    sources: tuple[Path, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def fingerprint(self) -> str:
        """A hash of the command and of the sources it runs: a change of either calls for a restart."""
        digest = hashlib.sha256("\0".join(self.command).encode())
        for source in self.sources:
            digest.update(source.read_bytes())
        return digest.hexdigest()


# every service's ports by name; the first serves its health check
PORTS: dict[str, tuple[str, ...]] = {
    "etcd": ("etcd", "etcd-peers"),
    "kube-apiserver": ("kube-apiserver",),
    "kube-controller-manager": ("kube-controller-manager",),
    "kube-scheduler": ("kube-scheduler",),
    "authentication": ("authentication",),
}
# the names for `status` and `down`, which need no toolchain, in the order of starting
NAMES = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok",
    "authentication",
    "hardware",
    "controllers",
)


def services(home: SandboxHome, toolchain: Toolchain, pki: Pki, ports: dict[str, int]) -> list[Service]:
    """All services of a sandbox in the order of starting."""
    serving = (f"--tls-cert-file={pki.certificate}", f"--tls-private-key-file={pki.key}")
    controller = (f"--kubeconfig={home.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1", *serving)
    found = [
        Service("etcd", (*toolchain.role("etcd"), *_etcd(home, pki, ports)), ports=PORTS["etcd"]),
        Service(
            "kube-apiserver",
            (*toolchain.role("kube-apiserver"), *_api_server(home, pki, ports), *serving),
            sources=(home.egress,),
            needs=("etcd",),
            ports=PORTS["kube-apiserver"],
            health="/readyz",
            environment=_COLLECTING,
        ),
        Service(
            "kube-controller-manager",
            (
                *toolchain.role("kube-controller-manager"),
                *controller,
                *_CLIENT_RATES,
                f"--secure-port={ports['kube-controller-manager']}",
                # no cloud assigns address ranges here
                "--controllers=*,-nodeipam",
                f"--node-monitor-grace-period={_GRACE}s",
                f"--service-account-private-key-file={pki.service_accounts}",
                f"--root-ca-file={pki.ca}",
            ),
            needs=("kube-apiserver",),
            ports=PORTS["kube-controller-manager"],
            health="/healthz",
            environment=_COLLECTING,
        ),
        Service(
            "kube-scheduler",
            (
                *toolchain.role("kube-scheduler"),
                *controller,
                *_CLIENT_RATES,
                f"--secure-port={ports['kube-scheduler']}",
            ),
            needs=("kube-apiserver",),
            ports=PORTS["kube-scheduler"],
            health="/healthz",
        ),
        Service(
            "kwok",
            (
                *toolchain.role("kwok"),
                f"--kubeconfig={home.kubeconfig}",
                "--manage-all-nodes=true",
                f"--node-lease-duration-seconds={_LEASE}",
                "--enable-crds=Stage",
                f"--cidr={home.ranges.pods}",
            ),
            needs=("kube-apiserver",),
            # else a kwok.yaml in the user's home folder would be read
            environment=(("KWOK_WORKDIR", str(home.root / "kwok")), *_COLLECTING),
        ),
    ]
    own = tuple(
        sorted(file for end in ("py", "yaml") for file in (Path(__file__).parent / "hardware").rglob(f"*.{end}"))
    )
    authentication = Service(
        "authentication",
        (
            *(sys.executable, "-m", f"{PACKAGE}.authentication_server", f"--port={ports['authentication']}"),
            f"--certificate={pki.certificate}",
            f"--key={pki.key}",
            f"--tokens={home.tokens}",
        ),
        needs=("kube-apiserver",),
        ports=PORTS["authentication"],
        health="/healthz",
        sources=tuple(sorted(Path(__file__).parent.glob("authentication*.py"))),
    )
    command = (sys.executable, "-m", f"{PACKAGE}.hardware", "--kubeconfig", str(home.kubeconfig))
    hardware = Service("hardware", command, needs=("kube-apiserver",), sources=own)
    controllers = Service(
        "controllers",
        (sys.executable, "-m", f"{PACKAGE}.controllers", f"--home={home.root}"),
        needs=("kube-apiserver",),
        sources=tuple(sorted((Path(__file__).parent / "controllers").glob("*.*"))),
    )
    return [*found, authentication, hardware, controllers]


def to_restart(all_services: list[Service], is_current: Callable[[Service], bool]) -> list[Service]:
    """The services that do not run as they should, and all that need one of them, in the order of starting.

    A client of a restarted API server would find its way back by itself, but only after its back-off.
    """
    chosen: dict[str, Service] = {}
    for service in all_services:
        if not is_current(service) or any(need in chosen for need in service.needs):
            chosen[service.name] = service
    return list(chosen.values())


def working_directory() -> Path:
    """Where services run: the project root, so that a checkout's `-m sandbox.hardware` is found."""
    return project_root()


def _etcd(home: SandboxHome, pki: Pki, ports: dict[str, int]) -> list[str]:
    clients, peers = (f"https://127.0.0.1:{ports[name]}" for name in PORTS["etcd"])
    return [
        f"--data-dir={home.etcd}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        # loopback is open to every user of the machine, and etcd stores the cluster's secrets
        *(f"--{side}client-cert-auth" for side in ("", "peer-")),
        *(f"--{side}trusted-ca-file={pki.ca}" for side in ("", "peer-")),
        *(f"--{side}cert-file={pki.certificate}" for side in ("", "peer-")),
        *(f"--{side}key-file={pki.key}" for side in ("", "peer-")),
        # a sandbox lost in a power cut is made again; waiting for the disk at every write costs more
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _api_server(home: SandboxHome, pki: Pki, ports: dict[str, int]) -> list[str]:
    return [
        f"--etcd-servers=https://127.0.0.1:{ports['etcd']}",
        f"--etcd-cafile={pki.ca}",
        f"--etcd-certfile={pki.certificate}",
        f"--etcd-keyfile={pki.key}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports['kube-apiserver']}",
        "--advertise-address=127.0.0.1",
        # Kubernetes refuses loopback as an endpoint address of its own service, and would try for ever
        "--endpoint-reconciler-type=none",
        f"--token-auth-file={pki.tokens}",
        # tokens that come and end while it runs, as those that a cloud hands out
        f"--authentication-token-webhook-config-file={home.authentication}",
        # what goes to Services goes to the processes of controllers
        f"--egress-selector-config-file={home.egress}",
        "--authentication-token-webhook-version=v1",
        "--authentication-token-webhook-cache-ttl=1s",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki.service_accounts}",
        f"--service-account-signing-key-file={pki.service_accounts}",
        f"--service-cluster-ip-range={home.ranges.services}",
        "--profiling=false",
        # over loopback compressing costs more than it saves
        "--feature-gates=APIResponseCompression=false",
    ]
