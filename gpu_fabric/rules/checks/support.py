"""Checks of the group `support`: whether the choices of a stack go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.plan.operators import own_charts
from gpu_fabric.rules.registry import Problem, check, in_fabric, in_software


@check("SUP001")
def manager_offers_model(case: Case) -> Iterator[Problem]:
    """The pair is a row of the support matrix."""
    choices = case.choices
    if choices.row is None:
        rows = case.known.support
        models = [row.model for row in rows if row.manager == choices.manager]
        others = [row.manager for row in rows if row.model == choices.model]
        yield Problem(
            in_fabric("model"),
            f"the manager {choices.manager} does not offer the model {choices.model}",
            f"allowed with {choices.manager}: {_or(models)}; {choices.model} is offered by {_or(others)}",
        )


@check("SUP002")
def model_works_in_rdma_mode(case: Case) -> Iterator[Problem]:
    """The nodes' RDMA mode is one that the model works in."""
    choices = case.choices
    if choices.row and choices.rdma_mode not in choices.row.rdma_modes:
        yield Problem(
            in_fabric("rdmaMode"),
            f"{choices.model} by {choices.manager} does not work in RDMA mode {choices.rdma_mode}",
            f"write {_or(choices.row.rdma_modes)}, and run the nodes in that mode: {choices.row.why.rstrip('.')}",
        )


@check("SUP003")
def model_works_on_link_layer(case: Case) -> Iterator[Problem]:
    """The link layer is one that the model works on."""
    choices = case.choices
    if choices.row and choices.link_type not in choices.row.link_types:
        rows = case.known.support
        fitting = [r.model for r in rows if r.manager == choices.manager and choices.link_type in r.link_types]
        yield Problem(
            in_fabric("linkType" if case.spec.fabric.link_type else "model"),
            f"{choices.model} by {choices.manager} does not work on {choices.link_type} links"
            + ("" if case.spec.fabric.link_type else f", which {case.shape.name} has"),
            f"allowed on {choices.link_type} with {choices.manager}: {_or(fitting)}" + _other_link(case),
        )


@check("SUP004")
def layout_goes_with_model(case: Case) -> Iterator[Problem]:
    """The layout is one that manager and model work with."""
    choices = case.choices
    if choices.row and choices.layout not in choices.row.layouts:
        yield Problem(
            in_fabric("addressing", "layout"),
            f"{choices.model} by {choices.manager} does not work with the layout {choices.layout}",
            f"allowed: {_or(choices.row.layouts)}",
        )


@check("SUP005")
def ipam_goes_with_model(case: Case) -> Iterator[Problem]:
    """The IPAM is one that manager and model work with."""
    choices = case.choices
    if choices.row and choices.ipam is not None and choices.ipam not in choices.row.ipams:
        yield Problem(
            in_fabric("addressing", "ipam"),
            f"{choices.model} by {choices.manager} does not take addresses from {choices.ipam}",
            f"allowed: {_or(choices.row.ipams)}" if choices.row.ipams else "leave ipam out",
        )


@check("SUP006")
def manager_runs_on_provider(case: Case) -> Iterator[Problem]:
    """The manager runs on the provider's clusters, and DigitalOcean's only with its machines."""
    choices = case.choices
    if choices.row and choices.provider not in choices.row.providers:
        fitting = {row.manager for row in case.known.support if choices.provider in row.providers}
        yield Problem(
            in_fabric("manager"),
            f"the manager {choices.manager} does not run on clusters of provider {choices.provider}",
            f"allowed on {choices.provider}: {_or(sorted(fitting))}",
        )
    elif choices.manager == "doks" and case.shape.provider not in ("doks", "inline"):
        yield Problem(
            in_fabric("manager"),
            f"the manager doks drives DigitalOcean's fabric, which {case.shape.name} does not have",
            "write manager: network-operator or spiderpool, or a shape of DigitalOcean",
        )


@check("SUP008")
def release_line_has_the_charts(case: Case) -> Iterator[Problem]:
    """The release line has every chart that the stack needs."""
    needed = tuple(chart.name for chart in own_charts() if chart.wanted(case))
    if lacking := [name for name in needed if name not in case.line.charts]:
        lines = [line.name for line in case.known.releases.values() if set(needed) <= set(line.charts)]
        yield Problem(
            in_software("releaseLine"),
            f"the release line {case.line.name} has no version of {' and '.join(lacking)}",
            f"allowed: {_or(lines)}",
        )


@check("SUP009")
def ipam_offers_layout(case: Case) -> Iterator[Problem]:
    """The IPAM can assign addresses in the layout."""
    choices, line = case.choices, case.line
    where = in_fabric("addressing", "layout")
    if choices.layout != "per-node":
        return
    if choices.ipam == "whereabouts":
        yield Problem(where, "Whereabouts gives no node a prefix of its own", "write ipam: nv-ipam, or another layout")
    elif choices.ipam == "nv-ipam" and not line.nv_ipam_cidr_pools:
        message = f"nv-ipam of release line {line.name} has no CIDRPool, which the layout per-node needs"
        yield Problem(where, message, "write layout: per-rail, or a newer release line")


def _other_link(case: Case) -> str:
    """The way out of NICs whose ports run either link layer; of a cloud's machines the cloud wired it."""
    row = case.choices.row
    if row is None or case.shape.provider not in ("server", "inline"):
        return ""
    return f"; or write linkType: {row.link_types[0]}, if the NICs' ports run it"


def _or(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words)) or "none"
