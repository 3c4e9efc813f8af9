"""Our reader's verdict on every changed topology file against that of NCCL itself."""

from __future__ import annotations

import re

import pytest
from installed_nccl import InstalledNccl
from topology_edits_content import CONTENT
from topology_edits_form import FORM
from topology_texts import Mutation, full, is_accepted

MUTATIONS = {mutation.name: mutation for mutation in (*FORM, *CONTENT)}

# What NCCL says where its reader stops (source: its src/graph/xml.cc and xml.h); later failures say other things.
STOPPED = re.compile(
    r"XML Parse|XML Mismatch|XML parser is limited|too many XML nodes|wrong version|too long \(max"
    r"|Attribute version of node system not found|XML topology is limited"
)


def changed(mutation: Mutation) -> bytes:
    return mutation.edit(full("BM.GPU.H100.8")).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("name", MUTATIONS)
def test_nccl_itself_takes_what_our_reader_takes_and_stops_where_ours_stops(name: str, nccl: InstalledNccl) -> None:
    data = changed(MUTATIONS[name])
    started = nccl.start(data)
    ignored = re.compile(r"XML Parse : Ignoring").sub("", started.log)

    assert (STOPPED.search(ignored) is None) is is_accepted(data, nccl.version), started.log[-2000:]


@pytest.mark.parametrize("shape", ["BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.H100.8"])
def test_nccl_itself_starts_with_every_published_file(shape: str, nccl: InstalledNccl) -> None:
    started = nccl.start(full(shape).encode())

    assert STOPPED.search(started.log) is None
    assert "Loading unnamed topology" in started.log
