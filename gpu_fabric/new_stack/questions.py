"""The questions of `gpu-fabric init` in their order: to whom each is put, what is suggested and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.new_stack.answers import (
    Answers,
    default_model,
    fitting_models,
    free_supernet,
    path_of,
    shape_of,
)
from gpu_fabric.spec.kubeconfig import file_findings
from gpu_fabric.spec.not_asked_for import PURPOSES
from gpu_fabric.spec.stack import PROVIDERS

# The Kubernetes versions and ranges of the committed stacks; a test compares them.
_VERSIONS = {"doks": "1.36.1-do.0", "oke": "1.34.1"}
_RANGES = {
    "doks": {"pod-range": "10.156.0.0/16", "service-range": "10.157.0.0/19", "node-range": "10.158.0.0/20"},
    "oke": {"pod-range": "10.240.0.0/12", "service-range": "10.96.0.0/16", "node-range": "10.140.0.0/16"},
}
_ALL = tuple(PROVIDERS)
_CLOUDS = ("doks", "oke")

Suggest = Callable[[Answers, Path], str | None]
Allow = Callable[[Answers, Path], tuple[str, ...]]


@dataclass(frozen=True)
class Question:
    """One question, which is also the option `--name` of the command.

    `required` is False where an empty answer leaves the key out. A script must answer what is required, unless
    `by_default`: then the suggestion is taken. `guessed`: the suggestion is one of several that an account may need.
    """

    name: str
    asks: str
    providers: tuple[str, ...] = _ALL
    required: bool = True
    by_default: bool = False
    guessed: bool = False
    suggest: Suggest = lambda _answers, _root: None
    allowed: Allow = lambda _answers, _root: ()
    when: Callable[[Answers, Path], bool] = lambda _answers, _root: True

    @property
    def flag(self) -> str:
        """The option of the command."""
        return f"--{self.name}"

    def is_asked(self, answers: Answers, root: Path) -> bool:
        """Whether the answers so far lead to this question."""
        return self.is_for(answers) and self.when(answers, root)

    def is_for(self, answers: Answers) -> bool:
        """Whether the provider has this key, or may have it while no valid provider is known."""
        provider = answers.get("provider", "")
        return provider in self.providers or provider not in PROVIDERS


def offered_shapes(provider: str) -> tuple[Shape, ...]:
    """The machine types with a fabric that a cluster of this provider can have."""
    vendor = CLOUD_SHAPES.get(provider)
    return tuple(shape for shape in catalog().shapes.values() if shape.rails and vendor in (None, shape.provider))


def _shape_names(answers: Answers, _root: Path) -> tuple[str, ...]:
    return tuple(shape.name for shape in offered_shapes(answers.get("provider", "")))


def _regions(answers: Answers, _root: Path) -> tuple[str, ...]:
    shape = shape_of(answers)
    return shape.doks.regions if shape is not None and shape.doks is not None else ()


def _first_region(answers: Answers, root: Path) -> str | None:
    return next(iter(_regions(answers, root)), None)


def _models(answers: Answers, root: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.model for row in fitting_models(answers, root)))


def _model(answers: Answers, root: Path) -> str | None:
    row = default_model(answers, fitting_models(answers, root), root)
    return None if row is None else row.model


def _managers(answers: Answers, root: Path) -> tuple[str, ...]:
    return tuple(row.manager for row in fitting_models(answers, root) if row.model == answers.get("model"))


def _has_addresses(answers: Answers, _root: Path) -> bool:
    chosen = (answers.get("model"), answers.get("manager"))
    return any(row.layouts[0] != "none" for row in catalog().support if (row.model, row.manager) == chosen)


def _has_contexts(answers: Answers, root: Path) -> bool:
    """Whether the kubeconfig has contexts of several clusters."""
    kubeconfig = answers.get("kubeconfig")
    return bool(kubeconfig) and any(entry.id == "CLU011" for entry in file_findings(str(kubeconfig), None, root))


def _range(name: str) -> Suggest:
    return lambda answers, _root: _RANGES.get(answers.get("provider", ""), {}).get(name)


QUESTIONS = (
    Question("provider", "where the cluster comes from", allowed=lambda _answers, _root: _ALL),
    Question(
        "kubeconfig",
        "path of the cluster's kubeconfig; empty: it will be a secret key of the stack",
        providers=("existing",),
        required=False,
        when=lambda answers, _root: not answers.get("kubeconfig-secret"),
    ),
    Question(
        "kubeconfig-secret",
        "name of the secret key for the kubeconfig",
        providers=("existing",),
        by_default=True,
        suggest=lambda _answers, _root: "kubeconfig",
        when=lambda answers, _root: not answers.get("kubeconfig"),
    ),
    Question(
        "context",
        "context of the kubeconfig",
        providers=("existing",),
        required=False,
        when=_has_contexts,
    ),
    Question("shape", "machine type of the GPU nodes", allowed=_shape_names),
    Question("nodes", "number of these nodes"),
    Question("region", "region of the cluster", providers=_CLOUDS, suggest=_first_region, allowed=_regions),
    Question("compartment", "id of the compartment, ocid1.compartment.…", providers=("oke",)),
    Question(
        "kubernetes-version",
        "Kubernetes version",
        providers=_CLOUDS,
        by_default=True,
        suggest=lambda answers, _root: _VERSIONS.get(answers.get("provider", "")),
    ),
    Question(
        "availability-domain",
        "availability domain with the capacity, such as AD-1",
        providers=("oke",),
        by_default=True,
        guessed=True,
        suggest=lambda _answers, _root: "AD-1",
    ),
    Question("image", "id of the GPU nodes' image, ocid1.image.…; empty: later", providers=("oke",), required=False),
    Question(
        "api-from",
        "ranges from which the API server is reached over the internet, with commas; empty: from within the VCN",
        providers=("oke",),
        required=False,
    ),
    *(
        Question(
            name,
            f"{what}, in CIDR notation",
            required=False,
            by_default=True,
            suggest=_range(name),
        )
        for name, what in (
            ("pod-range", "range of the cluster's pods"),
            ("service-range", "range of its services"),
            ("node-range", "range of its nodes (VPC, VCN)"),
        )
    ),
    Question("model", "how NICs get into pods", by_default=True, suggest=_model, allowed=_models),
    Question(
        "manager",
        "what installs and drives the software for it",
        by_default=True,
        suggest=lambda answers, root: next(iter(_managers(answers, root)), None),
        allowed=_managers,
    ),
    Question(
        "supernet",
        "range of the fabric's addresses, outside of every range in use",
        by_default=True,
        suggest=free_supernet,
        when=_has_addresses,
    ),
    Question(
        "purpose",
        "what the stack is for; the sections that it needs are written",
        by_default=True,
        suggest=lambda _answers, _root: PURPOSES[0],
        allowed=lambda _answers, _root: PURPOSES,
    ),
    Question(
        "verification-image",
        "image with Open MPI, ssh and nccl-tests that measures the fabric; empty: it is not measured",
        required=False,
        when=lambda answers, _root: answers.get("purpose", PURPOSES[0]) != PURPOSES[0],
    ),
)
"""In their order: each suggestion is made from the answers before it."""


def question_at(path: str) -> Question | None:
    """The question whose answer is at a dotted place of the file."""
    return next((question for question in QUESTIONS if path_of(question.name) == path), None)
