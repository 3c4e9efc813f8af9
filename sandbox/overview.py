"""How everything in a sandbox is: the processes of its own cluster and of its clouds' clusters."""

from __future__ import annotations

import sys

from gpu_fabric.report.console import FittingTable
from gpu_fabric.report.text import print_report
from .control_plane import ControlPlane, ServiceStatus
from .controllers.pid_files import pids
from .home import COMMAND, SandboxHome


def show(home: SandboxHome) -> bool:
    """Print a table for each cluster, and what is to be done where something does not run; True where all does."""
    homes = [home, *(home.cluster(cluster) for cluster in home.cluster_ids())]
    found = [(place, rows) for place in homes if (rows := _rows(place))]
    if not found:
        print(f"there is no sandbox; start one with: {COMMAND} up")
        return False
    for place, rows in found:
        if place != home:
            print(f"\ncluster {place.root.name} of a simulated cloud; to look into it: {place.bin / 'kubectl'}")
        _print_table(rows)
    if not all(row.good for _, rows in found for row in rows):
        advice = f"{COMMAND} up (for a cloud's cluster with -s STACK --sandbox)"
        print(f"not everything runs; start what is missing with: {advice}", file=sys.stderr)
        return False
    return True


def _rows(home: SandboxHome) -> list[ServiceStatus]:
    """The services of a cluster, then the processes of its controllers' pods."""
    rows, log = ControlPlane(home, print).status(), home.logs / "controllers.log"
    processes = pids(home) if rows else {}
    rows += [ServiceStatus(pod, pid, None, "running" if pid else "crashed", log) for pod, pid in processes.items()]
    return rows


def _print_table(rows: list[ServiceStatus]) -> None:
    cells = ((row.name, str(row.pid or "-"), str(row.port or "-"), row.state, str(row.log)) for row in rows)
    print_report(FittingTable(("process", "pid", "port", "state", "log"), cells))
