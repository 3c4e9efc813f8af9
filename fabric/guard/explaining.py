"""What is said where a danger is not acknowledged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fabric.diff.listing import loss_text
from fabric.diff.markup import counted
from fabric.guard.groups import Group, groups
from fabric.guard.model import Judgement
from fabric.resources import Loss
from fabric.spec.guard import MOST_DAYS, days_after

# As many names of a kind are told.
_TOLD = 3
_EXAMPLE_DAYS = 7


def explanation(judgement: Judgement, file: str) -> str:
    """Every danger that is not acknowledged: what goes and why, what is lost, what to do instead, and what to write.

    `file` is the stack file. An entry that nothing needs may be the one that is meant: it is told, too. Empty where all
    are acknowledged.
    """
    refused = groups(judgement.refused)
    return "\n".join(_lines(refused, judgement, file)) if refused else ""


def entries(refused: Iterable[Group], expires: str) -> Iterator[str]:
    """The lines of a stack file that acknowledge some dangers."""
    yield "gpu-fabric:guard:"
    yield "  acknowledge:"
    # To one name more than one thing may happen.
    for name in dict.fromkeys(group.name for group in refused):
        yield f"    - resource: {name}"
        yield f'      expires: "{expires}"'
        yield "      reason: who agreed to lose it, and why"


def lost_text(group: Group) -> str:
    """What goes with the dangers of a group; empty where nothing is counted."""
    words = [loss_text(group.lost)] if group.lost != Loss() else []
    if group.networks:
        words.append(f"networks of running jobs: {some(group.networks)}")
    if group.takes:
        words.append(f"with it {'goes' if len(group.takes) == 1 else 'go'} {some(group.takes)}")
    if group.takes_a_cluster:
        words.append("everything on the cluster")
    if group.moves_pods:
        words.append("pods that run keep addresses until they end that are planned no more")
    return "; ".join(words)


def some(names: tuple[str, ...]) -> str:
    """The first of some names, and how many there are beside."""
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more


def _lines(refused: list[Group], judgement: Judgement, file: str) -> Iterator[str]:
    count = len(refused)
    verb = "loses" if count == 1 else "lose"
    yield (
        f"{file}: {counted(count, 'change')} {verb} nodes, networks or addresses in use and "
        f"{'is' if count == 1 else 'are'} not acknowledged, nothing was changed."
    )
    for group in refused:
        yield f"  {group.name}: {group.happens} [{group.identity}]"
        yield f"      why: {group.why}"
        if lost := lost_text(group):
            yield f"      lost: {lost}"
        if group.protected:
            yield "      protected: the engine refuses it, too, as long as `cluster.protect` is true"
        yield f"      refused: {group.refusal}"
        yield f"      -> {group.alternative}"
    yield from (f"  not needed: {leftover.remark}" for leftover in judgement.leftovers)
    day = days_after(judgement.day, _EXAMPLE_DAYS)
    yield f"To lose it all the same, write into {file} under `config:`, in the place of an entry of the same name:"
    yield from (f"  {line}" for line in entries(refused, str(day)))
    yield f"  (`expires` is the last day on which it counts, at most {MOST_DAYS} days ahead.)"
