"""The command line: a module a command, and what several commands share."""
