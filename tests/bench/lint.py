"""The part of `make bench` that lints topology files; needs no sandbox."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from xml.etree.ElementTree import fromstring

from gpu_fabric.catalog import catalog
from gpu_fabric.nccl.machines import published_machines
from gpu_fabric.nccl.topology import Form, topology_xml
from nccl_topology.linter import Linter, LintReport
from tests.bench.budget import Budget

FILES = 1000
_PORTION = 100


def linting() -> tuple[Budget, Budget]:
    """Linting a thousand topology files, against reading the same files with an ordinary XML parser.

    Both forms of every published shape, 43 to 131 elements each. The two take turns at a tenth of the files, so that
    whatever else the machine does slows both; processor time, since neither waits for anything.
    """
    known = catalog()
    forms = [(name, form) for name in known.topologies for form in Form]
    texts = [topology_xml(known.shapes[name], known.topologies[name], form).encode() for name, form in forms]
    files = {f"{number}.xml": texts[number % len(texts)] for number in range(FILES)}
    linter = Linter.of(known=published_machines())
    if LintReport.of(linter, files.items()).files[0].problems:
        raise SystemExit("a file of the bench has findings; it is to measure good ones")
    linted, parsed = [], []
    for first in range(0, FILES, _PORTION):
        portion = dict(list(files.items())[first : first + _PORTION])
        linted.append(_seconds(partial(LintReport.of, linter, portion.items())))
        parsed.append(_seconds(partial(list, map(fromstring, portion.values()))))
    each, plain = (statistics.median(taken) / _PORTION * 1e3 for taken in (linted, parsed))
    return (
        Budget(f"linting a topology file, of {FILES:,} : parsing it as XML", each, plain, "ms", 8.0),
        Budget(f"linting {FILES:,} topology files", sum(linted), None, "s", 5.0),
    )


def _seconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began
