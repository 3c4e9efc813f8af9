"""The verification: it measures the fabric after its creation or a change, and `up` fails if it is too slow.

A dynamic resource whose provider is recorded by the name of its class; see `kept_objects`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pulumi
from pulumi.dynamic import ConfigureRequest, CreateResult, UpdateResult

from gpu_fabric.contract.verification import VerificationOutcome
from gpu_fabric.plan.records import PlannedVerification
from gpu_fabric.resources.dynamic import verification_resource

from ..cluster.handle import ClusterHandle, Resources
from ..engine.cluster_api import PATIENCE, ClusterApi, RequestError, counts_as_deleted
from ..engine.registration import DynamicProvider, DynamicResource, child_options
from ..kept_objects import HideTraceback, KeptObjectsError

if TYPE_CHECKING:
    from gpu_fabric.nccl.verdict.report import Verdict

    from .verification_run import VerificationRun

T = TypeVar("T")
_PRINTED = 60
PASSED, FAILED, STARTED = "passed", "failed", "started"


class VerificationError(KeptObjectsError):
    """The fabric did not pass, or could not be measured; Pulumi prints the message without a traceback."""


class _Props(NamedTuple):
    """Properties from Pulumi: the planned run, and its state; None before its first start."""

    planned: PlannedVerification
    state: str | None

    @classmethod
    def of(cls, props: dict[str, Any]) -> _Props:
        outcome = props.get("outcome")
        planned = PlannedVerification.model_validate_json(props["planned"])
        return cls(planned, json.loads(outcome)["state"] if outcome else None)


class VerificationProvider(DynamicProvider):
    """Runs the job of a Verification resource, and judges its result.

    Creation and update never fail because of a verdict, so that the state always records the objects on the cluster:
    the verdict is in the outcome, and the program ends the run. A run that passed is never repeated, a failed one is
    repeated by every `up`, and the next `up` reads the result of one that was not waited for.
    """

    deletes_first = True

    def configure(self, req: ConfigureRequest) -> None:
        logging.getLogger("grpc._server").addFilter(HideTraceback())

    def is_due(self, old: dict[str, Any], new: dict[str, Any]) -> bool:
        """A run is repeated, or its result read, until it has passed."""
        return _Props.of(old).state != PASSED

    def create(self, props: dict[str, Any]) -> CreateResult:
        planned = _Props.of(props).planned
        run = _run(props, planned)

        def outcome() -> str:
            # The job of an interrupted run continues.
            if not run.is_there():
                _start_or_clear(run)
            return _outcome(run, planned)

        return CreateResult("verification", {**props, "outcome": _run_requests(outcome)})

    def update(self, _id: str, old: dict[str, Any], new: dict[str, Any]) -> UpdateResult:
        (before, state), planned = _Props.of(old), _Props.of(new).planned
        run = _run(new, planned)

        def outcome() -> str:
            if before.name != planned.name:
                _run(new, before).clear()
                if not run.is_there():
                    _start_or_clear(run)
            elif state == PASSED:
                # Only credentials or the waiting have changed.
                return str(old["outcome"])
            elif state == FAILED:
                run.clear()
                _start_or_clear(run)
            return _outcome(run, planned)

        return UpdateResult({**new, "outcome": _run_requests(outcome)})

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        """Returns when the job's pods are deleted. Raises VerificationError with the cluster's reason."""
        run = _run(props, _Props.of(props).planned)

        def cleared() -> str:
            try:
                run.clear()
                run.forget()
            except RequestError as error:
                if not counts_as_deleted(error):
                    raise
            return ""

        _run_requests(cleared)


class _Run(
    DynamicResource,
    name="Verification",
    provider=VerificationProvider,
    planned=verification_resource,
    outputs=("outcome",),
):
    """A planned run on a cluster; `outcome` is JSON, as in `Verification`."""

    outcome: pulumi.Output[str]


class Verification(pulumi.ComponentResource):
    """The job, and its verdict.

    Must exist before: the networks, the device plug-ins, NCCL's files, and the launcher's controller. Waits for the
    verdict if the plan says so; the run then ends with an error if the fabric did not pass. `outcome` is an object with
    the state, the job, the bars and the measured values. Torn down first, since its pods hold addresses.
    """

    outcome: pulumi.Output[dict[str, Any]]

    def __init__(
        self,
        name: str,
        planned: PlannedVerification,
        cluster: ClusterHandle,
        after: Resources,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:rdma:Verification", name, None, opts)
        # As text: Pulumi's protocol turns all numbers into floating-point ones.
        sent = {"planned": planned.model_dump_json(by_alias=True)}
        run = _Run(name, planned, cluster, child_options(self, cluster, after, in_python=True), sent=sent)
        known = run.outcome.apply(lambda text: json.loads(text) if text else {})
        # The kubeconfig is secret, and the verdict is not.
        self.outcome = pulumi.Output.unsecret(known)
        if not pulumi.runtime.is_dry_run():
            self.outcome.apply(_judge)
        self.register_outputs({"job": planned.name})


def _judge(outcome: dict[str, Any]) -> None:
    """End the run if the fabric did not pass; only warn if the stack does not wait for the verdict."""
    if outcome.get("state") != FAILED:
        return
    text = "\n  ".join(["the fabric did not pass its verification:", *outcome["report"], f"look: {outcome['look']}"])
    if outcome["wait"]:
        raise VerificationError(text)
    pulumi.log.warn(text)


def _run(props: dict[str, Any], planned: PlannedVerification) -> VerificationRun:
    # Here, since only the plug-in runs it, and the program of most stacks has none.
    from .verification_run import VerificationRun

    def run() -> VerificationRun:
        return VerificationRun(ClusterApi(props["kubeconfig"], props.get("context"), 1, PATIENCE), planned, _say)

    return _run_requests(run)


def _say(text: str) -> None:
    # Pulumi shows what a plug-in writes to stderr while it creates the resource.
    print(f"verification: {text}", file=sys.stderr, flush=True)


def _start_or_clear(run: VerificationRun) -> None:
    try:
        run.start()
    except RequestError:
        # The state would not record a part of the job, so that destroying the stack would leave it.
        run.clear()
        raise


def _outcome(run: VerificationRun, planned: PlannedVerification) -> str:
    """The outcome as JSON, after the end of the run if the stack waits for it."""
    if planned.wait or run.has_ended():
        return _described(planned, run.verdict())
    return _described(planned, None)


def _described(planned: PlannedVerification, verdict: Verdict | None) -> str:
    from gpu_fabric.nccl.verdict.report import verdict_lines

    rails = () if verdict is None else verdict.rails
    namespace, report = planned.namespace, planned.report
    look = f"kubectl -n {namespace} get pods -l gpu-fabric/verification={planned.name}"
    if verdict is not None:
        look = f"kubectl -n {namespace} get configmap {report} -o jsonpath='{{.data.report\\.txt}}'"
    outcome = VerificationOutcome(
        state="started" if verdict is None else "passed" if verdict.passed else "failed",
        wait=planned.wait,
        job=planned.name,
        namespace=namespace,
        launcher=planned.launcher,
        nodes=planned.nodes,
        bar=planned.bar.value,
        bar_explained=planned.bar.explanation,
        rail_bar=None if planned.rail_bar is None else planned.rail_bar.value,
        measured=None if verdict is None else verdict.measured,
        rails={str(rail.rail): rail.measured for rail in rails},
        point_to_point_bar=None if planned.point_to_point is None else planned.point_to_point.bar.value,
        point_to_point={} if verdict is None else {str(rail.rail): rail.measured for rail in verdict.point_to_point},
        report=() if verdict is None else _first_lines(verdict_lines(verdict), report),
        config_map=report,
        look=look,
    )
    return outcome.model_dump_json(by_alias=True)


def _run_requests(act: Callable[[], T]) -> T:
    """The result of requests to the cluster. Raises VerificationError with the cluster's reason."""
    try:
        return act()
    except RequestError as error:
        raise VerificationError(f"the verification: {error}") from None


def _first_lines(lines: Iterable[str], report: str) -> tuple[str, ...]:
    """The printed lines: the first of thousands of reasons show their cause."""
    every = tuple(lines)
    left = len(every) - _PRINTED
    return every if left <= 1 else (*every[:_PRINTED], f"and {left - 1} more lines in ConfigMap {report}", every[-1])
