"""Values of charts: of another type than the chart's, or such that GPUs, agents or the rails are gone; and secrets."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake


def _plain_kubeconfig(base: Base) -> Iterator[Mistake]:
    if base.has("cluster.kubeconfig") and base.provider == "existing":
        named = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access"}
        text = "apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: abcdefgh}}]\n"
        yield Mistake({**named, "access": text}, "access")


KINDS = (
    Kind("a kubeconfig is in plain text under the key of its secret", "SPC006", _plain_kubeconfig),
)  # fmt: skip
