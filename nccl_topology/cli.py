"""`nccl-topology lint`: how NCCL reads topology files, and what is wrong with them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .dialect import Library
from .linter import Linter, LintReport
from .machine import known_machines
from .problem import rules


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0 without findings, 1 with some, 2 for what cannot be used."""
    parser = argparse.ArgumentParser(prog="nccl-topology", description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    lint = commands.add_parser(
        "lint",
        help="what NCCL makes of topology files, line by line",
        epilog="example: nccl-topology lint topo.xml --nccl 2.27.3",
        allow_abbrev=False,
    )
    lint.set_defaults(run=_lint)
    lint.add_argument("files", nargs="+", metavar="FILE", type=Path)
    lint.add_argument("--nccl", metavar="VERSION", help="the release that reads them; without it, any release")
    lint.add_argument("--library", choices=[*Library], type=Library, help="who reads them; the shape's, or else nccl")
    lint.add_argument("--shape", metavar="NAME", help="the machine type that they are for")
    lint.add_argument("--dump", metavar="FILE", type=Path, help="what NCCL_TOPO_DUMP_FILE wrote on such a machine")
    lint.add_argument("--format", choices=["text", "json"], default="text")
    explain = commands.add_parser(
        "explain", help="a rule's reason and source", epilog="example: nccl-topology explain TOP028"
    )
    explain.set_defaults(run=_explain)
    explain.add_argument("rule", choices=[*rules()], metavar="RULE")
    given = parser.parse_args(arguments)
    status: int = given.run(given)
    return status


def _lint(given: argparse.Namespace) -> int:
    known = known_machines()
    if given.shape is not None and given.shape not in known:
        return _refuse(f"no machine {given.shape!r}: {', '.join(known) or 'a checkout has them in gpu-fabric lint'}")
    try:
        dump = None if given.dump is None else given.dump.read_bytes()
        linter = Linter.of(given.library, given.nccl, known.get(given.shape), dump, known.values())
        report = LintReport.of(linter, [(_name(file), file.read_bytes()) for file in given.files])
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        return _refuse(str(error))
    value = json.dumps(report.value(), indent=2, ensure_ascii=False)
    text = value if given.format == "json" else "\n".join(report.lines())
    sys.stdout.buffer.write(f"{text}\n".encode())
    return int(any(file.problems for file in report.files))


def _name(file: Path) -> str:
    """A file's name as text, in any encoding."""
    return str(file).encode("utf-8", "backslashreplace").decode()


def _explain(given: argparse.Namespace) -> int:
    rule = rules()[given.rule]
    sys.stdout.write(f"{given.rule} ({rule.severity}): {rule.title}\n{rule.why}\nSource: {rule.source}\n")
    return 0


def _refuse(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 2
