"""The arguments of components that create a cluster, as a stack document, and its plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pulumi
from pydantic.alias_generators import to_camel

from gpu_fabric.findings import ConfigurationError, Finding, finding
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.places import NAMESPACE, dotted
from gpu_fabric.spec.stack_text import StackDocument
from gpu_fabric.spec.suggestion import nearest

from ..cluster.settings import SettingsPlace, arguments_of
from .arguments import as_written, is_known_later, output_findings, refuse, with_arguments
from .public_component import listed

# Arguments of a cluster that are no keys of a stack file, by provider.
_ACCOUNTS = {"doks": ("token",), "oke": ("settings", "kubeconfigToken")}
_PACKAGES = {"doks": "digitalocean", "oke": "oci"}
_TOKEN_SECRET = "kubeconfig-token"
# The section in a text, whose keys may be named without the namespace.
_CLUSTER = re.compile(rf"{NAMESPACE}:cluster|(?<![\w/.:-])cluster(?=\.[a-z])")


class ClusterArguments(NamedTuple):
    """The arguments of a cluster that a component creates.

    `given` are the keys of the section `cluster` of a stack file, `account` the rest, both by names of stack files.
    `within` is the argument of the component that has them; empty if they are the component's own. They are written
    `as_in_files` where a mapping in the place of the dataclass has the keys of a stack file.
    """

    provider: str
    given: Mapping[str, Any]
    account: Mapping[str, Any]
    within: str = ""
    as_in_files: bool = False

    @classmethod
    def of(cls, provider: str, args: Any, within: str = "") -> ClusterArguments:
        """Those of a dataclass, or of a mapping with the keys of a stack file."""
        named = (
            args
            if isinstance(args, Mapping)
            else {to_camel(entry.name): getattr(args, entry.name) for entry in fields(args)}
        )
        known = {str(key): value for key, value in named.items() if value is not None}
        account = {key: known.pop(key) for key in _ACCOUNTS[provider] if key in known}
        return cls(provider, known, account, within, isinstance(args, Mapping))

    def named(self, found: Finding) -> Finding:
        """A finding whose places are within the component's argument, for `refuse` and `warnings`."""
        return found.model_copy(
            update={name: self._inside(getattr(found, name)) for name in ("path", "message", "remedy")}
        )

    def settings(self, component: str) -> SettingsPlace:
        """Where the user writes them, for advice."""
        as_in_files = (self.within, "") if self.as_in_files else ()
        # Advice on an error at the cloud is asked for outside of the component's construction.
        names = copy_context()
        return arguments_of(component, lambda text: names.copy().run(with_arguments, self._inside(text), as_in_files))

    def section(self, name: str, opts: pulumi.ResourceOptions | None) -> dict[str, Any]:
        """The section `cluster` of a stack file with these keys; protected if the component is.

        The cluster has the component's name by default, which must then be a valid one.
        """
        written = {"name": name, **{key: as_written(value) for key, value in self.given.items()}}
        if _is_protected(opts):
            written["protect"] = True
        if (kubeconfig := self._token_kubeconfig) is not None:
            # The token is not part of the plan.
            written["kubeconfig"] = {**as_written(kubeconfig), "tokenSecret": _TOKEN_SECRET}
        return {**written, "provider": self.provider}

    def findings(self, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
        """What is wrong with the account, and with values that are not known before the run."""
        yield from output_findings({"cluster": self.given})
        if self.provider == "doks":
            yield from self._doks_findings(opts)
        else:
            yield from self._oke_findings(opts)

    def secret(self, key: str) -> pulumi.Output[str] | None:
        """A text of the account, secret; None if it is not given."""
        return pulumi.Output.secret(self.account[key]) if key in self.account else None

    def findings_of_plan(self, plan: Plan, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
        """What the plan shows to be missing in the account."""
        planned, settings = plan.cluster.oke, self.account.get("settings", {})
        if planned is None:
            return
        # Here, since a cloud's modules are imported only for a cluster there.
        from ..cluster.oke import provider_regions
        from ..cluster.oke_lookups import needs_tenancy

        if needs_tenancy(planned.lookups) and "tenancyOcid" not in settings:
            yield _missing("tenancyId", "machines need the tenancy's id to join", "write it, or settings.tenancyOcid")
        if len(provider_regions(planned)) > 1 and has_provider(opts, _PACKAGES["oke"]) and not settings:
            yield _missing(
                "settings",
                f"policies are created in region {planned.home_region}, and the provider in the options is of the "
                "cluster's region",
                "give it the account's settings as well, for a second provider",
            )

    @property
    def _mode(self) -> Any:
        """How the kubeconfig lets its user in, if that is stated."""
        return _entry(self.given.get("kubeconfig"), "mode")

    @property
    def _token_kubeconfig(self) -> Any:
        """The settings of a kubeconfig with the token of a service account at Oracle; None without one."""
        return self.given["kubeconfig"] if self.provider == "oke" and self._mode == "token" else None

    def _doks_findings(self, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
        token, given = self.account.get("token"), has_provider(opts, _PACKAGES["doks"])
        if token is not None:
            yield from _text_findings("token", token)
        elif not given:
            yield _missing(
                "token",
                "no API token of DigitalOcean",
                "give it one, or a provider of the package digitalocean in the options",
            )
        elif self._mode in (None, "token"):
            yield _missing(
                "token",
                "the kubeconfig holds the API token, which cannot be read from a provider in the options",
                "give it the token as well, or choose another gpu-fabric:cluster.kubeconfig.mode: exec or raw",
            )

    def _oke_findings(self, opts: pulumi.ResourceOptions | None) -> Iterator[Finding]:
        settings = self.account.get("settings", {})
        if not isinstance(settings, Mapping):
            yield finding(
                "SPC002", dotted(("cluster", "settings")), "must be a mapping of names to texts", "write {name: text}"
            )
            settings = {}
        from ..cluster.oke import SETTINGS

        for key, value in settings.items():
            if key in SETTINGS:
                yield from _text_findings("settings", value, key)
            else:
                remedy = f"{nearest(str(key), SETTINGS)}take it out, or use one of: {', '.join(SETTINGS)}"
                yield finding("SPC001", dotted(("cluster", "settings")), f"the provider has no setting {key!r}", remedy)
        token = self.account.get("kubeconfigToken")
        if token is not None and self._token_kubeconfig is None:
            remedy = "take it out, or choose gpu-fabric:cluster.kubeconfig.mode: token"
            yield finding("SPC002", dotted(("cluster", "kubeconfigToken")), "no kubeconfig holds this token", remedy)
        elif token is not None:
            yield from _text_findings("kubeconfigToken", token)
        elif self._token_kubeconfig is not None:
            yield _missing(
                "kubeconfigToken",
                "a kubeconfig of mode token needs the token of a service account",
                "give it one; before there is a cluster, choose gpu-fabric:cluster.kubeconfig.mode: exec",
            )

    def _inside(self, text: str) -> str:
        return _CLUSTER.sub(f"{NAMESPACE}:{self.within}", text) if self.within else text


def plan_cluster(
    component: str,
    name: str,
    cluster: ClusterArguments,
    opts: pulumi.ResourceOptions | None,
    sections: Mapping[str, Any],
    problems: Iterable[Finding] = (),
    *,
    as_in_files: Collection[str] = (),
) -> Plan:
    """The plan of a component that creates a cluster; `component` is its type and name, for messages.

    `sections` are the further sections of the stack document that is planned, and `problems` what was found in them.

    Raises:
        pulumi.RunError: with every problem.
    """
    document = StackDocument(
        name=name,
        file=component,
        root=Path(),
        sections={"cluster": cluster.section(name, opts), **sections},
        unclear=(*cluster.findings(opts), *problems),
        null_is_absent=True,
    )
    try:
        plan = prepare(document, for_up=True).plan
    except ConfigurationError as error:
        refuse(component, [cluster.named(entry) for entry in error.findings], as_in_files=as_in_files)
    if found := tuple(cluster.findings_of_plan(plan, opts)):
        refuse(component, [cluster.named(entry) for entry in found], as_in_files=as_in_files)
    # What is said to one of two stacks is not about a component.
    told = (entry for entry in plan.findings if not entry.id.startswith("SPL"))
    return plan.model_copy(update={"findings": tuple(map(cluster.named, told))})


def has_provider(opts: pulumi.ResourceOptions | None, package: str) -> bool:
    """Whether a component with these options has a provider of a package, of its own or of its parent."""
    if opts is None:
        return False
    several = opts.providers or ()
    given = [opts.provider, *(several.values() if isinstance(several, Mapping) else listed(several))]
    if any(provider is not None and provider.package == package for provider in given):
        return True
    return opts.parent is not None and opts.parent.get_provider(f"{package}:index:Provider") is not None


def _is_protected(opts: pulumi.ResourceOptions | None) -> bool:
    """Whether Pulumi protects a component with these options: by itself, or because its parent is protected."""
    if opts is None:
        return False
    if opts.protect is None and opts.parent is not None:
        # The SDK has no other name for it.
        return bool(getattr(opts.parent, "_protect", None))
    return bool(opts.protect)


def _entry(value: Any, key: str) -> Any:
    """An entry of a dataclass, or of a mapping with the keys of a stack file."""
    if is_dataclass(value):
        return next((getattr(value, field.name) for field in fields(value) if to_camel(field.name) == key), None)
    return value.get(key) if isinstance(value, Mapping) else None


def _text_findings(key: str, value: Any, of: str = "") -> Iterator[Finding]:
    if not is_known_later(value) and (not isinstance(value, str) or not value):
        what = f"the value of {of} must be text" if of else "must be text"
        yield finding(
            "SPC002", dotted(("cluster", key)), f"{what}, or an Output of it", "give it a text that is not empty"
        )


def _missing(key: str, why: str, remedy: str) -> Finding:
    return finding("SPC003", dotted(("cluster", key)), why, remedy)
