"""Checks of answers: one at a time on a terminal, all at once in a script."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from gpu_fabric.findings import ConfigurationError, Finding, Severity, finding
from gpu_fabric.new_stack.answers import Answers, fitting_models, outcome, places, refusals
from gpu_fabric.new_stack.questions import Question, question_at, questions
from gpu_fabric.plan import Plan
from gpu_fabric.spec.kubeconfig import file_findings
from gpu_fabric.spec.places import dotted, within_place
from gpu_fabric.spec.stack import PROVIDERS

# What Pulumi allows, without names of dots alone: as folders they lead out of their own.
_NAME = re.compile(r"(?!\.+$)[A-Za-z0-9._-]{1,100}")

# Answers that together must fit; what is wrong may be at a key that is not asked for.
_OF_MODEL = ("shape", "model", "manager")
_AFTER_SHAPE = ("--model", "--manager", "--supernet")


def wrong_name(name: str) -> tuple[Finding, ...]:
    """Why a text cannot be the name of a stack; empty if it can."""
    if _NAME.fullmatch(name):
        return ()
    problem = "this is not a valid name of a stack" if name else "the stack has no name"
    return (finding("SPC004", "NAME", problem, "write up to 100 letters, digits, '-', '_' and '.', such as train"),)


def wrong(question: Question, answers: Answers, root: Path) -> tuple[Finding, ...]:
    """The errors that an answer causes at its place and at those of other answers.

    Errors about keys without an answer are left out: those are asked for later.
    """
    if question.name not in places():
        return tuple(_not_allowed(question, answers, root))
    without = outcome({**answers, question.name: ""}, root).findings
    errors = tuple(entry for entry in _at_answers(answers, root) if entry not in without)
    if question.name == "context" and not errors:
        return file_findings(answers["kubeconfig"], answers["context"], root) if answers.get("kubeconfig") else ()
    if errors or question.name not in _OF_MODEL:
        return errors
    if question.name == "shape" and any(True for _ in fitting_models(answers, root)):
        return ()
    return refusals(answers, root)


def _at_answers(answers: Answers, root: Path) -> tuple[Finding, ...]:
    return outcome(answers, root).errors_at(*(place for name, place in places().items() if answers.get(name)))


def from_options(name: str, given: Answers, root: Path) -> dict[str, str]:
    """The answers of a script: what it gave, and suggestions for what it may leave out.

    Raises:
        ConfigurationError: every answer that is missing or wrong, each named by its option.
    """
    answers = {"name": name, **given}
    missing: list[Finding] = []
    for question in questions():
        if question.name in given or not question.is_asked(answers, root):
            continue
        by_default = question.by_default
        suggested = question.suggest(answers, root) if by_default and answers.get("provider") in PROVIDERS else None
        if suggested is not None:
            answers[question.name] = suggested
        elif question.required and (not by_default or answers.get("provider") in PROVIDERS):
            missing.append(_missing(question, answers, root))
    earlier = (*not_asked(given), *_wrong_options(given, answers, root))
    if earlier or any(entry.path not in _AFTER_SHAPE for entry in missing):
        # Their suggestions are made from the other answers.
        missing = [entry for entry in missing if entry.path not in _AFTER_SHAPE]
    found = (*wrong_name(name), *missing, *earlier)
    if found:
        raise ConfigurationError(found, f"Pulumi.{name}.yaml" if name else "gpu-fabric init")
    return answers


def by_option(entry: Finding) -> Finding:
    """A finding at the place of an answer, with the option of that answer in the place of the path."""
    question = question_at(entry.path)
    return entry if question is None else entry.model_copy(update={"path": question.flag})


def left_open(plan: Plan, answers: Answers, given: Collection[str]) -> Iterator[str]:
    """The questions without an answer of the user: those of whose places the plan warns, and guesses; by option."""
    warned = [entry for entry in plan.findings if entry.severity is Severity.WARNING]
    for question in questions():
        if (
            question.name in given
            or question.name not in places()
            or not question.is_for(answers)
            or (answers.get(question.name) and not question.guessed)
        ):
            continue
        place = places()[question.name]
        outer = place[:-1]
        alone = sum(other[: len(outer)] == outer for other in places().values()) == 1
        ids = [
            entry.id
            for entry in warned
            if within_place(entry.path, outer if alone else place) or (len(outer) > 1 and entry.path == dotted(outer))
        ]
        why = f"{answers[question.name]} was taken" if question.guessed else ", ".join(dict.fromkeys(ids))
        if why:
            yield f"{question.flag}: {question.asks.partition(';')[0]} ({why})"


def not_asked(given: Answers) -> Iterator[Finding]:
    """The options that the provider of the answers has no use for."""
    for question in questions():
        if given.get(question.name) and not question.is_for(given):
            problem = f"a stack of provider {given['provider']} has no such key"
            remedy = f"leave it out; it is for provider {' and '.join(question.providers)}"
            yield finding("SPC001", question.flag, problem, remedy)


def _missing(question: Question, answers: Answers, root: Path) -> Finding:
    allowed = question.allowed(answers, root)
    many = "; `gpu-fabric shapes` lists them" if question.name == "shape" else ""
    ways = f", one of: {', '.join(allowed)}" if allowed and not many else many
    only = f" (provider {' or '.join(question.providers)})" if answers.get("provider") not in PROVIDERS else ""
    asked = only if len(question.providers) < len(PROVIDERS) else ""
    return finding(
        "SPC003", question.flag, f"this answer is required{asked}", f"add {question.flag}: {question.asks}{ways}"
    )


def _wrong_options(given: Answers, answers: Answers, root: Path) -> Iterator[Finding]:
    """The errors at the places of answers, and those of a model that does not fit the machines."""
    asked = [question for question in questions() if answers.get(question.name) and question.is_for(answers)]
    fitting = {"name": answers["name"], **{question.name: answers[question.name] for question in asked}}
    errors = _at_answers(fitting, root)
    if not errors:
        of_model = (question for question in asked if question.name in _OF_MODEL and question.name in given)
        errors = next((found for question in of_model if (found := wrong(question, fitting, root))), ())
    yield from map(by_option, errors)
    for question in asked:
        if question.name not in places():
            yield from _not_allowed(question, fitting, root)


def _not_allowed(question: Question, answers: Answers, root: Path) -> Iterator[Finding]:
    """What is wrong with an answer that has no place of its own in the file, where a rule would look at it."""
    allowed = question.allowed(answers, root)
    if answers[question.name] not in allowed:
        yield finding(
            "SPC002", question.flag, f"{answers[question.name]!r} is not allowed", f"use one of: {', '.join(allowed)}"
        )
