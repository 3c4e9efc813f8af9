"""Simulates the operators and the hardware of the nodes until it is stopped."""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from pathlib import Path

from sandbox.hardware.controller import Controller
from sandbox.hardware.measuring.controller import MeasuringController
from sandbox.hardware.proving import ProvingController


def main() -> None:
    """Runs until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.hardware", description="Plays the operators and the hardware of simulated nodes."
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    beside = (MeasuringController(arguments.kubeconfig), ProvingController(arguments.kubeconfig))
    threads = [threading.Thread(target=one.run, args=(stopped,), name=type(one).__name__) for one in beside]
    for thread in threads:
        thread.start()
    Controller(arguments.kubeconfig).run(stopped)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
