"""What the sandbox's kube-scheduler is told: whose pods it binds."""

from __future__ import annotations

from pathlib import Path

import yaml

from sandbox.home import SandboxHome

# A pod is bound by the scheduler that it names. Volcano's own does not run here: whether the pods of a job all fit is
# decided by `sandbox.hardware.jobs` before they are made, and where each goes by this scheduler under Volcano's name.
SCHEDULERS = ("default-scheduler", "volcano")

# As high as those of the other clients in `sandbox.services`; flags for them are not heeded beside a file.
_QPS, _BURST = 300, 600


def scheduler_file(home: SandboxHome) -> Path:
    """Where the scheduler's configuration lies."""
    return home.root / "scheduler.yaml"


def write_scheduler_file(home: SandboxHome) -> None:
    """Write the configuration: the cluster's kubeconfig, and a profile for each scheduler's name."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(home.kubeconfig), "qps": _QPS, "burst": _BURST},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name} for name in SCHEDULERS],
    }
    scheduler_file(home).write_text(yaml.safe_dump(document, sort_keys=False))
