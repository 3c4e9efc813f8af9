"""The report of an acceptance: Markdown for the maintainers of this program, without secrets and ids of accounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_fabric.base.enumeration import first
from gpu_fabric.live.acceptance import STEPS, AcceptanceRecord, Attempt
from gpu_fabric.live.engine_run import EngineError, EngineRun, ResourceRun
from gpu_fabric.live.redaction import redacted_text, without_ids
from gpu_fabric.report.figures import duration_text
from gpu_fabric.report.pages.symptom_explanation import text_explanation
from gpu_fabric.symptoms import recognised

_MOST_SLOW, _MOST_ERRORS = 25, 30


def report_text(record: AcceptanceRecord, names: Iterable[str] = ()) -> str:
    """The report; `names` are those of this machine and its user, which are left out."""
    lines = (line for part in _parts(record) for line in (*part, ""))
    return without_ids(redacted_text("\n".join(lines)), names)


def outcome_rows(record: AcceptanceRecord) -> Iterator[tuple[str, str, str]]:
    """Each attempt at a step: its name with what came of it, how long it took, and Pulumi's summary."""
    for attempt in record.attempts:
        outcome = "killed" if attempt.outcome == "begun" else attempt.outcome
        yield f"{attempt.step}: {outcome}", _took(attempt), _summary(attempt.run)
    done = {attempt.step for attempt in record.attempts}
    yield from ((f"{step}: not done", "", "") for step in STEPS if step not in done)


def _parts(record: AcceptanceRecord) -> Iterator[Sequence[str]]:
    yield [f"# Acceptance of stack {record.stack}", "", f"On {record.place}: {record.verdict}."]
    if record.changed_between:
        yield ["The stack file was changed between two steps. The plan below is that of the last."]
    rows = [(*row[:2], attempt.began if attempt else "", row[2]) for row, attempt in _with_attempts(record)]
    yield ["## Steps", "", *_table(("step", "took", "began (UTC)", "Pulumi's summary"), rows)]
    yield ["## What differs", "", *_differences(record)]
    yield ["## What failed", "", *_failures(record)]
    if record.left:
        yield ["## What is left", "", *_block(record.left)]
    yield ["## Versions", "", *_pairs(record.versions)]
    yield ["## Verification", "", *_block(record.verification or ["nothing was measured"])]
    yield ["## Nodes as they were seen", "", *_block(record.machines or ["the cluster was not read"])]
    yield from _durations(record)
    yield ["## The plan", "", *_pairs({**record.figures, **record.overview})]
    if record.findings:
        yield ["What the plan warns of:", "", *_block(record.findings)]


def _with_attempts(record: AcceptanceRecord) -> Iterator[tuple[tuple[str, str, str], Attempt | None]]:
    rows = list(outcome_rows(record))
    yield from zip(rows, [*record.attempts, *[None] * (len(rows) - len(record.attempts))], strict=True)


def _took(attempt: Attempt) -> str:
    seconds = attempt.seconds
    if seconds is None:
        return ""
    return f"{seconds:.0f} s" if seconds < 120 else duration_text(int(seconds))


def _summary(run: EngineRun | None) -> str:
    return "" if run is None else ", ".join(f"{count} {name}" for name, count in sorted(run.operations.items()))


def _differences(record: AcceptanceRecord) -> list[str]:
    found = [text for attempt in record.attempts for text in attempt.differences]
    return _block(line for text in found for line in text.splitlines()) if found else ["Nothing."]


def _failures(record: AcceptanceRecord) -> Iterator[str]:
    said = [attempt for attempt in record.attempts if attempt.problems or (attempt.run and attempt.run.errors)]
    if not said:
        yield "Nothing."
    for attempt in said:
        errors = attempt.run.errors if attempt.run else ()
        texts = [*map(_error_text, errors), *attempt.problems]
        shown, more = first(texts, _MOST_ERRORS)
        yield f"{attempt.step}:"
        yield from _block(line for text in shown for line in text.splitlines())
        yield from [f"… and {more} more"] * bool(more)
        whole = "\n".join(texts)
        if found := recognised(whole):
            yield "By `gpu-fabric explain`:"
            yield from _block(text_explanation(found, whole))


def _error_text(error: EngineError) -> str:
    kind, _, name = error.urn.rpartition("::")
    of = f"{kind.rpartition('$')[2].rpartition('::')[2]} {name}: " if name else ""
    return f"{of}{error.text}" + (f"\n-> {error.advice}" if error.advice else "")


def _durations(record: AcceptanceRecord) -> Iterator[Sequence[str]]:
    for attempt in record.attempts:
        if attempt.run is None or not (slow := attempt.run.slowest):
            continue
        shown, more = first(slow, _MOST_SLOW)
        rows = [
            (entry.name, entry.type, entry.operation, f"{entry.seconds} s", _limit(record, entry)) for entry in shown
        ]
        table = _table(("resource", "type", "operation", "took", "limit of creation"), rows)
        yield [f"## Durations of {attempt.step}", "", *table, *[f"… and {more} more"] * bool(more)]


def _limit(record: AcceptanceRecord, entry: ResourceRun) -> str:
    return record.limits.get(entry.name, "") if entry.operation == "create" else ""


def _pairs(rows: Mapping[str, str]) -> list[str]:
    return _table(("", ""), rows.items())


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *cells)]


def _block(lines: Iterable[str]) -> list[str]:
    """Lines as they are, whatever they have in them."""
    kept = [line.replace("```", "'''") for line in lines]
    return ["```text", *kept, "```"]
