"""Simulates the operators and the hardware of the nodes until it is stopped."""

from __future__ import annotations

import argparse
import logging
import threading
from pathlib import Path

from ..end_signals import end_of_process
from .compute_domains import ClaimsController
from .controller import Controller
from .measuring.controller import MeasuringController
from .proving import ProvingController


def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.hardware", description="Plays the operators and the hardware of simulated nodes."
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = end_of_process()
    others = (
        MeasuringController(arguments.kubeconfig),
        ProvingController(arguments.kubeconfig),
        ClaimsController(arguments.kubeconfig),
    )
    threads = [threading.Thread(target=one.run, args=(stopped,), name=type(one).__name__) for one in others]
    for thread in threads:
        thread.start()
    Controller(arguments.kubeconfig).run(stopped)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
