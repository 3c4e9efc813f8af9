"""The console that prints all output: text is shown exactly as written."""

from __future__ import annotations

from functools import partial

from rich.console import Console

plain_console = partial(Console, markup=False, emoji=False, highlight=False)
"""Creates a console that interprets neither markup nor emoji names.

Printed text contains names, paths and texts from stack files. Rich's defaults would change (`:guard:`), drop
(`[draft]`) or refuse (`[/2026]`) some of them. Style the program's own text with `Text`; a test forbids any other
console.
"""
