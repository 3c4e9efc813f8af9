"""Schedulers of jobs, and controllers that make their pods."""

from __future__ import annotations

import pulumi

from components.cluster.handle import ClusterHandle
from components.helm import ChartOperator, release
from components.operators.queue_teardown import QueueDrain, QueueRelease
from components.resources import After, child_options, custom_resource
from fabric.plan import HelmRelease, PlannedObject, PlannedQueues


class Volcano(pulumi.ComponentResource):
    """Installs Volcano's chart, then makes the queue and the accounts of its jobs.

    Must exist before: its namespace, and those of the fabric. Nothing of the fabric needs it, so it comes up beside
    the operators; no job waits for `ready` but a user's own. Torn down in the other order: a queue goes while its
    controller runs.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        objects: tuple[PlannedObject, ...],
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Volcano", name, None, opts)
        installed = release(name, planned, child_options(self, provider, after))
        options = child_options(self, provider, (*after, installed))
        self.ready = (installed, *(custom_resource(name, entry, options) for entry in objects))
        self.register_outputs({"version": planned.chart.version})


class Kueue(pulumi.ComponentResource):
    """Installs Kueue's chart, then makes the queue of the fabric's jobs with what it stands on.

    Must exist before: its namespace, those of the fabric, and the controllers of jobs: Kueue looks for their
    definitions when it starts. Waits until the queue is active. Torn down in the other order, and in steps of its own:
    the queue is emptied first, then it goes while the controller runs, which then ends before its definitions go.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: HelmRelease,
        queues: PlannedQueues,
        cluster: ClusterHandle,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:Kueue", name, None, opts)
        provider = cluster.provider
        installed = release(name, planned, child_options(self, provider, after))
        released = QueueRelease(name, queues, cluster, self._of_no_provider(cluster, (installed,)))
        made: list[pulumi.Resource] = [released]
        for entry in (*queues.flavors, queues.queue, *queues.local_queues):
            made.append(custom_resource(name, entry, child_options(self, provider, (*after, installed, *made))))
        # Of another queue it is another resource: the old one is emptied before it goes.
        drained = QueueDrain(name, queues, cluster, self._of_no_provider(cluster, made))
        self.ready = (*made, drained)
        self.register_outputs({"version": planned.chart.version, "queue": queues.name})

    def _of_no_provider(self, cluster: ClusterHandle, after: After) -> pulumi.ResourceOptions:
        """Options of a child that is written in Python: the cluster's provider does not make it."""
        return pulumi.ResourceOptions(parent=self, depends_on=list(after), deleted_with=cluster.provider.gone_with)


class JobSet(ChartOperator):
    """Installs JobSet's chart.

    Must exist before: its namespace. Nothing of the fabric needs it.
    """

    type_token = "gpu-fabric:operators:JobSet"


class MpiOperator(pulumi.ComponentResource):
    """Applies the MPI operator's own objects in their order: its definition, its permissions, its Deployment.

    Must exist before: its namespace. Torn down in the other order; jobs go with their definition.
    """

    ready: tuple[pulumi.Resource, ...]

    def __init__(
        self,
        name: str,
        planned: tuple[PlannedObject, ...],
        provider: pulumi.ProviderResource,
        after: After,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("gpu-fabric:operators:MpiOperator", name, None, opts)
        applied: list[pulumi.Resource] = []
        for entry in planned:
            applied.append(custom_resource(name, entry, child_options(self, provider, (*after, *applied))))
        self.ready = tuple(applied)
        self.register_outputs({"objects": len(applied)})
