"""Entry point of `python -m fabric`."""

from fabric.cli import app

app(prog_name="python -m fabric")
