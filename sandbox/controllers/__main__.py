"""Runs the controllers of a cluster, and leads the API server to them, until it is stopped."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from ..end_signals import end_of_process
from ..home import SandboxHome
from .egress import Egress
from .kubelet import Kubelet
from .pod_logs import KUBELET_PORT, PodLogs


def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.controllers", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the sandbox's folder")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = end_of_process()
    home = SandboxHome(arguments.home)
    kubelet, logs = Kubelet(home), PodLogs(home.kubeconfig)

    def port_of(address: str, port: int) -> int | None:
        """What is behind a Service, or in the place of a node's kubelet."""
        return logs.port() if port == KUBELET_PORT else kubelet.port_of(address, port)

    egress = Egress(home.egress_socket, port_of)
    egress.begin()
    kubelet.run(stopped)
    egress.shutdown()


if __name__ == "__main__":
    main()
