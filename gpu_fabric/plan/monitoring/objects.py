"""The objects of a fabric's monitoring: a PrometheusRule, and a ConfigMap with the dashboard."""

from __future__ import annotations

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.prometheus import PrometheusRule, PrometheusRuleSpec
from gpu_fabric.plan.monitoring.alarms import rule_groups
from gpu_fabric.plan.monitoring.dashboard import dashboard_config_map
from gpu_fabric.plan.monitoring.watched import Watched
from gpu_fabric.plan.records import PlannedObject
from gpu_fabric.plan.steps import Context


def prometheus_rule(watched: Watched) -> PrometheusRule:
    """The alarms of a fabric as an object."""
    wanted = watched.case.spec.monitoring
    metadata = ObjectMeta(
        name=watched.case.own_copy("gpu-fabric-alarms"), namespace=wanted.namespace, labels=wanted.labels or None
    )
    return PrometheusRule(metadata=metadata, spec=PrometheusRuleSpec(groups=rule_groups(watched)))


def monitoring_objects(context: Context) -> tuple[PlannedObject, ...]:
    """What the stack applies of its monitoring."""
    watched, wanted = Watched.of(context), context.case.spec.monitoring
    rules = (PlannedObject(object=prometheus_rule(watched)),) if wanted.prometheus_rules else ()
    return (*rules, PlannedObject(object=dashboard_config_map(watched))) if wanted.dashboard else rules
