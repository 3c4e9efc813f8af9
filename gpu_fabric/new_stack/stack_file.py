"""The text of a new stack file, with comments and the commands that come next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from gpu_fabric.base.user_files import file_content
from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.findings import ConfigurationError, finding
from gpu_fabric.new_stack.answers import Answers, sections
from gpu_fabric.spec.load import SECTIONS
from gpu_fabric.spec.not_asked_for import optional_keys
from gpu_fabric.spec.places import NAMESPACE

SCHEMA = "docs/schema/stack.json"
# What the program of a team's repository imports.
PROGRAM = "gpu_fabric.program"
# Whose program creates the stack: a checkout's, that of a team's repository, or none next to the file.
Project = Literal["checkout", "repository"] | None
_PLACES = {"existing": "on an existing cluster", "doks": "at DigitalOcean", "oke": "at Oracle"}

# What a reader must know of a key, above it in the file.
_COMMENTS = {
    ("existing", "kubeconfigSecret"): "The name of a secret key, whose value is encrypted below.",
    ("existing", "ranges"): "In use on the cluster: the fabric's addresses are proved to be outside of them.",
    ("doks", "pools"): "In production add contractedNodes: what the contract has, which no pool can grow beyond.",
    ("doks", "ranges"): "No other cluster or VPC of the team may use these.",
    ("oke", "endpoint"): "The API server also has a public address, for these ranges alone.",
    ("oke", "ranges"): "The VCN and its cluster: nothing that they are connected to may use these.",
}
_NO_ENDPOINT = "The API server has no public address: run Pulumi within the VCN, or add endpoint or access."
_PROTECT = "For trying. In production true: some changes replace the whole cluster."
_PROTECTED = "Refuses to delete the cluster, or to replace it as some changes do."
# What keeps jobs from most known problems and is off by default (docs/problems.md): as many keys as a line holds.
_MOST_OFF = 4
_ORDER = (
    *("provider", "kubeconfig", "kubeconfigSecret", "context", "region", "compartmentId", "version", "pools"),
    *("endpoint", "ranges"),
)


def stack_text(answers: Answers, *, project: Project, kept: Mapping[str, Any]) -> str:
    """The stack file of the answers; `kept` is what the file had in addition to the sections."""
    found = sections(answers)
    config = dict(kept.get("config") or {})
    lines = [f"# yaml-language-server: $schema={SCHEMA}"] if project == "checkout" else []
    lines += [f"# {title(answers)}.", "config:", f"  {NAMESPACE}:cluster:"]
    lines += (f"    {line}" for line in _cluster_lines(found["cluster"]))
    if found.get("fabric"):
        lines.append(f"  {NAMESPACE}:fabric:")
        lines += (f"    {key}: {_flow(value)}" for key, value in found["fabric"].items())
    lines += [f"  {NAMESPACE}:software:", f'    releaseLine: "{found["software"]["releaseLine"]}"']
    for section in (name for name in SECTIONS if name in found and name not in ("cluster", "fabric", "software")):
        lines.append(f"  {NAMESPACE}:{section}: {_flow(found[section])}")
    text = "".join(f"{line}\n" for line in lines)
    if config:
        text += "".join(f"  {line}\n" for line in _block(config).splitlines())
    others = {key: value for key, value in kept.items() if key != "config"}
    text += _block(others) if others else ""
    text += f"# Off until you write them: {', '.join(_off(answers))}.\n"
    text += "# Next:\n"
    return text + "".join(f"#   {command}\n" for command in next_commands(answers, project=project))


def title(answers: Answers) -> str:
    """The machines of the stack, in a sentence."""
    return f"{answers['nodes']} x {answers['shape']} {_PLACES[answers['provider']]}"


def next_commands(answers: Answers, *, project: Project) -> Iterator[str]:
    """What is run next; a secret is read from a file, never typed into a command."""
    name, provider = answers["name"], answers["provider"]
    yield f"gpu-fabric plan -s {name}"
    if project is None:
        yield "and with this file in the folder of a checkout of gpu-fabric:"
    yield f"pulumi stack init {name}"
    if secret := answers.get("kubeconfig-secret"):
        yield f"pulumi config set --secret {NAMESPACE}:{secret} -s {name} < KUBECONFIG"
    if provider == "doks":
        yield f"pulumi config set --secret digitalocean:token -s {name} < TOKEN"
    yield f"pulumi up -s {name}" if project == "repository" else f"make up STACK={name}"


def kept_of(path: Path) -> dict[str, Any]:
    """What an existing file has besides the sections: secrets, settings of providers, and how secrets are encrypted.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        content = yaml.safe_load(file_content(path))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not YAML in UTF-8"
        problem = finding("SPC004", "", f"cannot be read: {reason}", "move it away, or take another name for the stack")
        raise ConfigurationError([problem], path.name) from error
    kept = dict(content) if isinstance(content, dict) else {}
    config = kept.pop("config", None)
    replaced = {f"{NAMESPACE}:{section}" for section in SECTIONS}
    others = {key: value for key, value in config.items() if key not in replaced} if isinstance(config, dict) else {}
    return {"config": others, **kept}


def _off(answers: Answers) -> list[str]:
    """The most important keys that keep jobs from known problems and that the answers leave out."""
    found = sections(answers)
    rows = (row for row in optional_keys() if row.is_for(answers["provider"], answers.get("manager")))
    return [row.key for row in rows if not _has(found, row.place)][:_MOST_OFF]


def _has(section: Any, place: tuple[str, ...]) -> bool:
    """Whether a section, or a value in it, is written."""
    for key in place:
        section = (section or {}).get(key)
    return section is not None


def _cluster_lines(cluster: Mapping[str, Any]) -> Iterator[str]:
    provider = cluster["provider"]
    for key in (key for key in _ORDER if key in cluster):
        if comment := _COMMENTS.get((provider, key)):
            yield f"# {comment}"
        if key == "pools":
            yield "pools:"
            yield from (f"  - {_flow(pool)}" for pool in cluster[key])
        else:
            yield f"{key}: {_flow(cluster[key])}"
    if provider == "oke" and "endpoint" not in cluster:
        yield f"# {_NO_ENDPOINT}"
    if provider != "existing":
        protect = bool(cluster.get("protect"))
        yield f"# {_PROTECTED if protect else _PROTECT}"
        yield f"protect: {_flow(protect)}"


def _flow(value: Any) -> str:
    text = as_yaml(value, default_flow_style=True, allow_unicode=True, width=1_000_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _block(value: Any) -> str:
    return as_yaml(value, default_flow_style=False, allow_unicode=True, width=1_000_000)
