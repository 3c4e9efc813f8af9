"""Preview or bring up one stack for each of many clusters, all at the same time, and print a line for each.

    python examples/automation/many_stacks.py KUBECONFIG… [--up] [--at-once 10] [--charts bundled] [--checkout DIR]

Each stack has a name and a range of addresses of its own; all else is the same. The backend and the passphrase are
those of Pulumi's environment variables. If one site is refused or fails, the others are still done, and the exit status
is 1.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

try:
    from gpu_fabric.components.automation import FabricStack, Sections, StackError
except ModuleNotFoundError:  # in a checkout, whose root is then on the path, the package has another name
    from components.automation import FabricStack, Sections, StackError


def sections(number: int, kubeconfig: Path, charts: str) -> dict[str, Any]:
    """The sections of a site's stack."""
    return {
        "cluster": {
            "provider": "existing",
            "kubeconfig": str(kubeconfig.absolute()),
            "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3}],
        },
        "fabric": {"addressing": {"supernet": f"172.{16 + number}.0.0/16"}},
        "software": {"charts": charts},
    }


def site(number: int, kubeconfig: Path, wishes: argparse.Namespace) -> tuple[bool, str]:
    """Whether a site is as it should be, and the line about it."""
    name = f"site-{number:02}"
    try:
        stack = FabricStack(Sections(name, sections(number, kubeconfig, wishes.charts)), wishes.checkout)
        if not wishes.up:
            return True, f"{name}: {stack.preview().changes.get('create', 0)} to create"
        contract = stack.up().fabric()
        return True, f"{name}: {len(contract.networks)} networks in {', '.join(contract.namespaces)}"
    except StackError as error:
        return False, f"{name}: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kubeconfigs", nargs="+", type=Path, metavar="KUBECONFIG", help="one for each cluster")
    parser.add_argument("--up", action="store_true", help="create and update, instead of a preview")
    parser.add_argument("--at-once", type=int, default=10, help="runs of Pulumi at the same time")
    parser.add_argument("--charts", default="upstream", help="bundled: the stand-ins, for sandboxes")
    parser.add_argument("--checkout", type=Path, default=Path.cwd(), help="the folder of this program's Pulumi.yaml")
    wishes = parser.parse_args()
    with ThreadPoolExecutor(wishes.at_once) as threads:
        runs = [threads.submit(site, *entry, wishes) for entry in enumerate(wishes.kubeconfigs)]
        done = [run.result() for run in runs]
    print("\n".join(line for _, line in done))
    return 0 if all(good for good, _ in done) else 1


if __name__ == "__main__":
    sys.exit(main())
