"""Suggestions for unknown words: the nearest known word, regardless of case."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import SequenceMatcher, get_close_matches

from gpu_fabric.catalog.shape import Shape

_MOST = 4
_MISSPELT = 0.88
"""Names at least this similar (0 to 1) count as a spelling mistake, and only that name is suggested."""
# Sizes and shapes without GPUs: DigitalOcean names them by vCPUs, Oracle by their family.
_CPU_ONLY = re.compile(r"(?:[a-z0-9_.]+-)+[0-9]+vcpu-[0-9]+gb.*|(?:vm|bm)\.(?:standard|optimized|denseio|hpc).*")

# What people call a value elsewhere.
_ALSO_CALLED = {
    "ether": ("ethernet", "roce", "rocev2", "eth"),
    "infiniband": ("ib",),
    "doks": ("digitalocean", "do"),
    "oke": ("oci", "oracle"),
    "existing": (
        *("eks", "gke", "aks", "rke2", "k3s", "openshift", "kubeadm", "talos"),
        *("on-prem", "on-premises", "onprem", "bare-metal", "baremetal", "kubernetes", "aws", "azure", "gcp"),
    ),
    "network-operator": ("nvidia", "nvidia-network-operator", "networkoperator"),
    "sriov": ("sr-iov",),
    "ib-sriov": ("sriov-ib", "ib-sr-iov"),
    "host-device": ("hostdev", "hostdevice"),
}


def meant(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed value that a word is another name of, or that is closest to it; None if none is."""
    words = {name.lower(): name for name in allowed}
    same = next((name for name in words.values() if word.lower() in _ALSO_CALLED.get(name, ())), None)
    close = get_close_matches(word.lower(), list(words), n=1, cutoff=0.6)
    return same or (words[close[0]] if close else None)


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean …? ` with the known word that is meant; empty if no word is close."""
    name = meant(word, known)
    return "" if name is None else f"did you mean {name!r}? "


def nearest_shapes(word: str, known: Collection[Shape]) -> str:
    """`did you mean …? ` with the shapes that a name probably means; empty if there are none.

    A name that differs only in case is that shape. Otherwise the GPU model and count in the name decide before its
    spelling; shapes with an RDMA fabric come first, then the most similar names.
    """
    written = word.lower()
    if _CPU_ONLY.fullmatch(written):
        return (
            "it has no GPU, and pools are of GPU machines (a cloud's others are its systemPool and otherPools; on a "
            "cluster that exists they are left out); "
        )
    same = [shape.name for shape in known if shape.name.lower() == written]
    if same:
        return f"did you mean {same[0]!r}? "
    fitting = [shape for shape in known if _after_model(written, shape) is not None]
    if not fitting:
        return nearest(word, (shape.name for shape in known))
    counted = [shape for shape in fitting if _count(written, shape) == shape.gpus.count] or fitting
    most_rails = [shape for shape in counted if shape.rails] or counted
    near = sorted(most_rails, key=lambda shape: -_likeness(written, shape))
    if _likeness(written, near[0]) > _MISSPELT:
        near = near[:1]
    return f"did you mean {' or '.join(repr(shape.name) for shape in near[:_MOST])}? "


def no_shape(word: str, known: Collection[Shape]) -> str:
    """A message for an unknown shape, with suggestions."""
    return f"no shape {word!r}: {nearest_shapes(word, known)}`gpu-fabric shapes` lists them"


def _likeness(written: str, shape: Shape) -> float:
    return SequenceMatcher(None, written, shape.name.lower()).ratio()


def _count(written: str, shape: Shape) -> int | None:
    """The number of GPUs in a name: after the model, or as the last word."""
    behind = re.fullmatch(r"[x.]?([0-9])(?:[^0-9].*)?", _after_model(written, shape) or "")
    last = re.search(r"[.x-]([0-9])$", written)
    found = behind or last
    return int(found[1]) if found else None


def _after_model(written: str, shape: Shape) -> str | None:
    """The text after the GPU's model in a name; None if the name does not contain the shape's model."""
    if shape.gpus.model is None:
        return None
    model = re.escape(shape.gpus.model.lower().split("-")[0].replace(" ", ""))
    # H100 matches "h100x8" and "h100.8" but not "gh100"; A10 does not match "a100".
    found = re.search(rf"(?<![a-z0-9]){model}(?=$|[^a-z0-9]|x[0-9]|[0-9](?:[^0-9]|$)(?<![0-9]{{2}}))(.*)", written)
    return found[1] if found else None
