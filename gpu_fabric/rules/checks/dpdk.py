"""Checks of the group `dpdk`: pods that drive the NICs from user space."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_fabric.plan.case import Case
from gpu_fabric.rules.registry import Problem, check
from gpu_fabric.spec.places import dotted

_MODELS = ("sriov", "host-device")
_MEBIBYTES = {"Mi": 1, "Gi": 1024}


@check("DPK001")
def dpdk_has_a_nic_of_its_own(case: Case) -> Iterator[Problem]:
    """DPDK is asked for only where a pod has a NIC, or a virtual function, for itself."""
    choices = case.choices
    if case.spec.fabric.dpdk is not None and not (choices.model in _MODELS and choices.link_type == "ether"):
        yield Problem(
            dotted(("fabric", "dpdk")),
            f"{choices.model} on {choices.link_type} links gives a pod no Ethernet device of its own to drive",
            f"leave it out, or write model: {' or '.join(_MODELS)} on Ethernet",
        )


@check("DPK002")
def memory_is_a_number_of_pages(case: Case) -> Iterator[Problem]:
    """The memory in huge pages is a whole number of pages."""
    dpdk = case.spec.fabric.dpdk
    if dpdk is not None and (rest := _mebibytes(dpdk.huge_pages) % (size := _mebibytes(dpdk.page_size))):
        less = _mebibytes(dpdk.huge_pages) - rest
        amounts = [f"{amount}Mi" for amount in (less, less + size) if amount]
        yield Problem(
            dotted(("fabric", "dpdk", "hugePages")),
            f"{dpdk.huge_pages} is not a whole number of pages of {dpdk.page_size}",
            f"write {' or '.join(amounts)}",
        )


@check("DPK003")
def pages_are_reserved(case: Case) -> Iterator[Problem]:
    """The reader knows what the nodes must reserve for DPDK."""
    dpdk = case.spec.fabric.dpdk
    if dpdk is not None and case.choices.model in _MODELS:
        yield Problem(
            dotted(("fabric", "dpdk")),
            f"every node must reserve {dpdk.huge_pages} in pages of {dpdk.page_size}, and its kubelet must give "
            "processors to one pod alone",
            "reserve the pages by kernel argument (hugepagesz, hugepages), and run kubelet with cpuManagerPolicy: "
            "static",
        )


def _mebibytes(text: str) -> int:
    return int(text[:-2]) * _MEBIBYTES[text[-2:]]
