"""NCCL and RCCL topology files: a reader that reads them as the libraries do, and a linter.

    linter = Linter.of(version="2.27.3", known=known_machines().values())
    for problem in linter.lint("topo.xml", data).problems: ...

Needs Python alone.
"""
