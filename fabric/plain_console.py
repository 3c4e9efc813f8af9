"""The console by which everything is printed: text is shown as it is written."""

from __future__ import annotations

from functools import partial

from rich.console import Console

plain_console = partial(Console, markup=False, emoji=False, highlight=False)
"""Makes a console to which nothing in a text is markup or the name of an emoji.

What is printed has names, paths and texts of stack files in it, which by Rich's defaults would be changed (`:guard:`),
lost (`[draft]`) or refused (`[/2026]`). Style what is ours with `Text`; a test keeps every other console away.
"""
