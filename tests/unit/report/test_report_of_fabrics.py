"""Reports of a stack with several fabrics: each has its own part, with its name in the headings."""

import csv
import json
import re
from collections import Counter
from io import StringIO

import pytest
from planned_fabrics import example

from gpu_fabric.cli.plan import plan_document
from gpu_fabric.plan import Plan
from gpu_fabric.report.console import report_text
from gpu_fabric.report.csv_table import csv_report
from gpu_fabric.report.figures import plan_figures
from gpu_fabric.report.html import html_report
from gpu_fabric.report.text import plan_report


@pytest.fixture(scope="module")
def machines() -> Plan:
    return example("two-machines")


@pytest.fixture(scope="module")
def with_storage() -> Plan:
    return example("storage-fabric")


def test_the_text_has_rails_addresses_and_job_of_each(machines: Plan) -> None:
    text = report_text(plan_report(machines), 200)

    for name in ("main", "a100"):
        for heading in ("Rails", "Addresses", "A job's pod carries"):
            assert f"\n{heading} of fabric {name}\n" in text
        assert re.search(rf"^bar of {name} +8 NICs", text, re.MULTILINE)
    assert "fabric main 172.16.0.0/16" in text
    assert "fabric a100 172.17.0.0/16" in text


def test_a_storage_fabric_has_no_bar_and_no_nccl(with_storage: Plan) -> None:
    text = report_text(plan_report(with_storage), 200)

    assert "addresses of storage" in text
    assert not re.search(r"(bar|NCCL files|NCCL topology) of storage", text)


def test_the_page_draws_each_fabric_and_has_every_id_once(with_storage: Plan) -> None:
    page = html_report(with_storage)
    ids = Counter(re.findall(r'\sid="([^"]+)"', page))

    assert {"fabric-drawing", "address-map", "fabric-storage", "storage-fabric-drawing", "storage-address-map"} <= set(
        ids
    )
    assert [name for name, count in ids.items() if count > 1] == []
    assert "172.18.16.0/20" in page


def test_a_table_of_nics_names_the_fabric_of_each(with_storage: Plan) -> None:
    rows = list(csv.DictReader(StringIO(csv_report(with_storage))))
    counts = Counter(row["fabric"] for row in rows)

    # Two nodes with eight rails and two ports of storage.
    assert counts == {"main": 16, "storage": 4}
    assert {row["pci"] for row in rows if row["fabric"] == "storage"} == {"0000:29:00.0", "0000:aa:00.0"}


@pytest.mark.parametrize("stack", ["two-machines", "storage-fabric"])
def test_the_json_of_a_plan_lists_the_shares_of_every_fabric_as_the_table_does(stack: str) -> None:
    plan = example(stack)
    document = json.loads(plan_document(plan))
    by_fabric = {"main": document, **{one["name"]: one for one in document["fabrics"]}}
    listed = {
        name: Counter(share for pool in one["addresses"]["pools"] for share in pool["shares"])
        for name, one in by_fabric.items()
    }
    table: dict[str, Counter[str]] = {}
    for row in csv.DictReader(StringIO(csv_report(plan))):
        table.setdefault(row["fabric"], Counter())[row["share"]] += 1

    assert len(listed) == 2
    assert listed == table


def test_figures_are_those_of_each_fabric(machines: Plan) -> None:
    figures = {figure.name: figure for figure in plan_figures(machines)}

    assert figures["rails of main"].value == figures["rails of a100"].value == "8"
    assert figures["line rate of a node of main"].value == "3.2 Tb/s"
    assert figures["line rate of a node of a100"].value == "1.6 Tb/s"
    assert figures["bus bandwidth to reach in main"].value == "368 GB/s"
    assert "rails" not in figures
