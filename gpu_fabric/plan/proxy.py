"""The HTTP proxy of containers that download packages, as environment variables."""

from __future__ import annotations

from gpu_fabric.k8s.scheduling import EnvVar
from gpu_fabric.plan.case import Case

_OWN_NAMES = ("localhost", "127.0.0.1", ".svc", ".cluster.local")
"""What every cluster reaches by itself. The API server's address in pods is one of the range of services."""


def proxy_variables(case: Case) -> tuple[EnvVar, ...] | None:
    """The variables in capitals and in small letters, since programs read either; None without a proxy."""
    proxy = case.spec.software.proxy
    if proxy is None:
        return None
    values = {"HTTP_PROXY": proxy.http, "HTTPS_PROXY": proxy.https, "NO_PROXY": ",".join(proxy_exceptions(case))}
    written = {name: value for name, value in values.items() if value is not None}
    both = written | {name.lower(): value for name, value in written.items()}
    return tuple(EnvVar(name=name, value=value) for name, value in both.items())


def proxy_exceptions(case: Case) -> tuple[str, ...]:
    """What is reached without the proxy: the cluster's own names and ranges, and what the stack file adds."""
    proxy, ranges = case.spec.software.proxy, case.spec.cluster.ranges
    own = (*map(str, ranges.own().values()), *map(str, ranges.reserved))
    return tuple(dict.fromkeys((*_OWN_NAMES, *own, *(proxy.no_proxy if proxy else ()))))
