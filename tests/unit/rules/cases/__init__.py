"""The tables of cases, one module per group of the rule book: each holds `CASES`."""
