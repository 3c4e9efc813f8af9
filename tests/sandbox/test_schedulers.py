"""A stack with every scheduler and controller of jobs beside each other: brought up, used, and destroyed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import partial

import psutil
import pytest
from attached_pods import documents_of, text_of
from driver import Sandbox, until
from program_lists import SCHEDULERS
from test_models import assert_a_job_runs, assert_it_stays_and_goes

from gpu_fabric.attach.attachment import Wishes, attach_text
from gpu_fabric.prepare import prepare_stack
from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError

pytestmark = pytest.mark.sandbox

SETS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets"
STRICT = "dryRun=All&fieldValidation=Strict"
# Seconds; the API server gives a webhook ten.
_LATE = 6


def has_available_deployments(sandbox: Sandbox, namespace: str) -> bool:
    """Every Deployment of a namespace, of which there is at least one, has a pod that is available."""
    deployments = sandbox.items(f"/apis/apps/v1/namespaces/{namespace}/deployments")
    return bool(deployments) and all(entry.get("status", {}).get("availableReplicas") for entry in deployments)


def test_kueue_volcano_jobset_and_leader_worker_set_come_up_together_and_go(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("kueue")
    sandbox.up()
    plan = prepare_stack("kueue", project_root())
    namespaces = {release.name: release.namespace for release in plan.releases}
    for name in namespaces.keys() & {*SCHEDULERS}:
        until(partial(has_available_deployments, sandbox, namespaces[name]), f"{name} is available")

    (leader_workers,) = documents_of(attach_text(text_of("leaderworkerset.yaml"), plan.workload, Wishes()).text)
    sandbox.api.post(f"{SETS}?{STRICT}", leader_workers)
    leader_workers["spec"]["leaderWorkerTemplate"]["sizes"] = 2
    with pytest.raises(ApiError, match="sizes"):
        sandbox.api.post(f"{SETS}?{STRICT}", leader_workers)

    assert_a_job_runs(sandbox, "nvidia.com/rail_00", 1)
    assert_it_stays_and_goes(sandbox)


def test_an_admission_of_volcanos_that_starts_late_is_waited_for(trying: Callable[[str], Sandbox]) -> None:
    sandbox = trying("dev")

    def hold() -> None:
        files = until(lambda: list(sandbox.home.pids.glob("controller-volcano-admission-*")), "it is started", 120)
        process = psutil.Process(int(json.loads(files[0].read_text())["pid"]))
        process.suspend()
        time.sleep(_LATE)
        process.resume()

    holding = threading.Thread(target=hold)
    holding.start()
    sandbox.up_with(software={"schedulers": {"volcano": {"queue": "training"}}})
    holding.join()

    queue = sandbox.api.get("/apis/scheduling.volcano.sh/v1beta1/queues/training")
    assert (queue["spec"]["parent"], queue["status"]["state"]) == ("root", "Open")
