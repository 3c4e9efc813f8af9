"""The questions of `gpu-fabric init` in their order: to whom each is put, what is suggested and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from gpu_fabric.base.tables import read_table
from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.catalog.shape import CLOUD_SHAPES
from gpu_fabric.model import FrozenModel
from gpu_fabric.new_stack.answers import (
    TABLE,
    Answers,
    default_model,
    fitting_models,
    free_supernet,
    path_of,
    shape_of,
)
from gpu_fabric.spec.kubeconfig import file_findings
from gpu_fabric.spec.not_asked_for import PURPOSES
from gpu_fabric.spec.places import Location
from gpu_fabric.spec.stack import PROVIDERS

_ALL = tuple(PROVIDERS)

Allow = Callable[[Answers, Path], tuple[str, ...]]


class Question(FrozenModel):
    """One question, which is also the option `--name` of the command; `questions.yaml` explains the fields."""

    name: str
    at: Location = ()
    asks: str
    providers: tuple[str, ...] = _ALL
    required: bool = True
    by_default: bool = False
    guessed: bool = False
    suggestion: str | dict[str, str] = {}

    @property
    def flag(self) -> str:
        """The option of the command."""
        return f"--{self.name}"

    def is_asked(self, answers: Answers, root: Path) -> bool:
        """Whether the answers so far lead to this question."""
        when = _WHEN.get(self.name)
        return self.is_for(answers) and (when is None or when(answers, root))

    def suggest(self, answers: Answers, root: Path) -> str | None:
        """What is suggested after the answers so far; None where nothing is."""
        if (chosen := _SUGGESTED.get(self.name)) is not None:
            return chosen(answers, root)
        found = self.suggestion
        return found if isinstance(found, str) else found.get(answers.get("provider", ""))

    def allowed(self, answers: Answers, root: Path) -> tuple[str, ...]:
        """The answers among which one is chosen; empty where any text may be written."""
        allow = _ALLOWED.get(self.name)
        return () if allow is None else allow(answers, root)

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


_ALLOWED: dict[str, Allow] = {
    "provider": lambda _answers, _root: _ALL,
    "shape": _shape_names,
    "region": _regions,
    "model": _models,
    "manager": _managers,
    "purpose": lambda _answers, _root: PURPOSES,
}
_SUGGESTED: dict[str, Callable[[Answers, Path], str | None]] = {
    "region": lambda answers, root: next(iter(_regions(answers, root)), None),
    "model": _model,
    "manager": lambda answers, root: next(iter(_managers(answers, root)), None),
    "supernet": free_supernet,
    "purpose": lambda _answers, _root: PURPOSES[0],
}
_WHEN: dict[str, Callable[[Answers, Path], bool]] = {
    "kubeconfig": lambda answers, _root: not answers.get("kubeconfig-secret"),
    "kubeconfig-secret": lambda answers, _root: not answers.get("kubeconfig"),
    "context": _has_contexts,
    "supernet": _has_addresses,
    "verification-image": lambda answers, _root: answers.get("purpose", PURPOSES[0]) != PURPOSES[0],
}


@cache
def questions() -> tuple[Question, ...]:
    """All questions in their order."""
    return tuple(Question.model_validate({"name": name, **row}) for name, row in read_table(TABLE).items())


def question_at(path: str) -> Question | None:
    """The question whose answer is at a dotted place of the file."""
    return next((question for question in questions() if path_of(question.name) == path), None)
