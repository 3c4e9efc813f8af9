"""The output of `gpu-fabric explain` for an error text that a person has pasted, as lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import wrap

from gpu_fabric.findings import former_ids, rules
from gpu_fabric.model import FrozenModel
from gpu_fabric.symptoms import Recognised, Subject, Symptom, subjects

_WIDTH = 80
_LONGEST = 200
_RULE = re.compile(r"\b[A-Z]{3}[0-9]{3}\b")


class SeenSymptom(Symptom):
    """A symptom for scripts, with what was seen of it, and the line in which it begins, from 1."""

    seen: str
    line: int


class ExplainedText(FrozenModel):
    """What is known of a text, for scripts: its symptoms, the rules that it names, and what software it speaks of."""

    symptoms: tuple[SeenSymptom, ...]
    rules: tuple[str, ...]
    speaks_of: tuple[str, ...]


def text_explanation(found: Sequence[Recognised], text: str) -> Iterator[str]:
    """The symptoms in a text, a cause before what it brings about; then the rules of this program that it names."""
    for number, entry in enumerate(found):
        if number:
            yield ""
        yield from symptom_explanation(entry.symptom, _seen_line(entry, text))
    for number, rule in enumerate(named_rules(text)):
        if not number and found:
            yield ""
        yield from _wrapped(
            f"{rule} ({rules()[rule].severity.value}): {rules()[rule].title} (`gpu-fabric explain {rule}`)"
        )


def symptom_explanation(row: Symptom, *seen: str) -> Iterator[str]:
    """A row of the table: what prints it, what it means, what to do, and on whose word."""
    yield f"{row.name} ({row.printed_by})"
    for line in seen or (f"seen as: {says}" for says in row.says):
        yield from _wrapped(line, "  ")
    yield from _wrapped(row.means, "  ")
    for step in row.do:
        yield from _wrapped(f"- {step}", "  ", "    ")
    if row.rules:
        found = "; ".join(f"{rule} ({', '.join(rules()[rule].commands)})" for rule in row.rules)
        yield from _wrapped(f"This program finds it by {found}.", "  ")
    if row.page:
        yield from _wrapped(f"More: docs/{row.page}", "  ")
    posted = f" Posted: {', '.join(row.posted)}." if row.posted else " Not posted."
    yield from _wrapped(f"Source: {row.source}; versions: {row.versions}.{posted}", "  ")


def unknown_text(text: str) -> list[str]:
    """What to look at where no row fits: by what the text speaks of, else where every search begins."""
    spoken = subjects_of(text)
    lines = ["no known error text is in it, so nothing is said of its cause"]
    for subject in spoken:
        lines += _wrapped(f"- it speaks of {subject.title}: look at {subject.look} (docs/{subject.page})", "", "  ")
    if not spoken:
        lines += _wrapped(
            "- of a cluster that `up` has made `gpu-fabric doctor -s STACK` names what is damaged, of a job's log "
            "`gpu-fabric verdict LOG` what is wrong with it; docs/symptoms.md has the texts that are known",
            "",
            "  ",
        )
    return lines


def subjects_of(text: str) -> list[Subject]:
    """The kinds of software that a text speaks of."""
    return [subject for subject in subjects() if re.search(subject.words, text, re.IGNORECASE)]


def named_rules(text: str) -> list[str]:
    """The rules of this program whose ids are in a text, each once."""
    ids = (former_ids().get(name, name) for name in _RULE.findall(text))
    return list(dict.fromkeys(name for name in ids if name in rules()))


def _seen_line(entry: Recognised, text: str) -> str:
    seen = entry.seen if len(entry.seen) <= _LONGEST else f"{entry.seen[:_LONGEST]} …"
    return f"line {entry.line}: {seen}" if "\n" in text.strip() else f"seen: {seen}"


def _wrapped(text: str, first: str = "", further: str | None = None) -> list[str]:
    return wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
