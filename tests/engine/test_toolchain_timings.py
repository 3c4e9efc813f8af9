"""What `python -m sandbox build` says of binaries that are there."""

import re
import subprocess
import sys

from sandbox.home import project_root


def test_the_timings_of_each_binary_that_was_built_here_are_printed() -> None:
    command = [sys.executable, "-m", "sandbox", "build", "--timings", "kwok", "control-plane"]

    printed = subprocess.run(command, cwd=project_root(), capture_output=True, text=True, check=True).stdout

    # a machine's own control plane and a cache of other clones are not built by this user
    assert re.findall(r"^([a-z-]+): (?:\d+ s|not built by this user)$", printed, re.M) == ["kwok", "control-plane"]
    assert re.findall(r"^  +\d+\.\d s  \S+$", printed, re.M) or "not built" in printed
