"""What must hold between facts of the catalog's committed rows, beside the form of each, which the models check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

from gpu_fabric.base.repeats import repeated
from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.chart import ChartKey
from gpu_fabric.catalog.doks import size_shape
from gpu_fabric.catalog.nccl import DeviceAccess, NcclSetting, NcclVariable
from gpu_fabric.catalog.reading import _NCCL
from gpu_fabric.catalog.shape import LinkType

NCCL = _NCCL.read()


def misfits(variable: NcclVariable | None, row: NcclSetting) -> Iterator[str]:
    """Why a variable cannot have a row's value."""
    if variable is None or variable.name != row.variable:
        yield "it is no variable of the table"
        return
    if not variable.takes(row.value):
        yield "it is no whole number"
    if variable.limits is not None and not variable.limits.hold(row.value):
        yield f"allowed is {variable.limits.said}"
    fabrics = product(variable.refused, row.links or get_args(LinkType), row.devices or get_args(DeviceAccess))
    if any(unfit.holds(row.value, link, devices) for unfit, link, devices in fabrics):
        yield "it is refused in stack files"


def test_each_setting_of_nccl_has_a_value_that_its_variable_takes_and_stack_files_may_have() -> None:
    own = [(entry, row) for entry in NCCL.entries for row in entry.settings]
    resilience = [(NCCL.known.get(row.variable), row) for choice in NCCL.resilience.values() for row in choice.settings]

    assert len(own) > 10
    assert len(resilience) > 3
    found = [(row.variable, row.value, why) for variable, row in own for why in misfits(variable, row)]
    # A choice is made in words, and may set what no stack file may.
    found += [
        (row.variable, row.value, why)
        for variable, row in resilience
        for why in misfits(variable, row)
        if "stack files" not in why
    ]
    assert found == []


def test_each_variable_of_nccl_is_listed_once_and_one_that_is_never_set_says_why() -> None:
    assert repeated(entry.name for entry in NCCL.entries) == []
    assert set(NCCL.limits) <= set(NCCL.known)
    assert [each.name for each in NCCL.variables if each.does and not each.settings and each.not_set is None] == []
    for further in NCCL.further:
        assert further.last.keys() <= {name for names in further.since.values() for name in names}


def test_limits_and_unfit_values_are_given_in_one_way() -> None:
    limits = [each.limits for each in NCCL.entries if each.limits is not None]

    assert [each for each in limits if bool(each.words) == (each.least is not None or each.most is not None)] == []
    unfit = [row for each in NCCL.entries for row in (*each.refused, *each.discouraged)]
    assert [row for row in unfit if row.values and row.unless] == []


def test_each_alarm_asks_for_metrics_of_the_table_and_each_condition_has_its_reason() -> None:
    table = catalog().alarms

    assert [name for name, alarm in table.alarms.items() if not alarm.metrics] == []
    assert {metric for alarm in table.alarms.values() for metric in alarm.metrics} <= table.metrics.keys()
    assert {need for alarm in table.alarms.values() for need in alarm.needs} <= table.conditions.keys()
    assert {row.exporter for row in table.metrics.values()} <= table.exporters.keys()


def is_undated(row: ChartKey) -> bool:
    return row.added_in is row.removed_in is row.ignored_in is None


def test_each_key_of_a_chart_has_a_version_and_each_part_of_an_image_a_key() -> None:
    versions = [each for table in catalog().chart_versions.values() for each in table.values()]

    assert [row.key for row in catalog().chart_keys.rows if is_undated(row)] == []
    assert versions
    assert [row.image for each in versions for row in each.images if len(each.keys_of(row)) != len(row.image)] == []


def test_each_image_of_a_release_line_can_be_pulled() -> None:
    for line in catalog().releases.values():
        images = line.images
        assert images.own.keys() <= images.names.keys(), line.name
        if not (images.repository and images.version):
            assert images.own.keys() == images.names.keys(), line.name


def test_each_size_of_digitalocean_has_a_name_by_the_grammar() -> None:
    assert [slug for slug in catalog().doks.sizes if size_shape(slug, catalog().doks) is None] == []


def test_each_distribution_and_each_cloud_with_a_driver_of_its_own_can_be_recognised() -> None:
    drivers = catalog().dra_drivers.values()

    assert [row.title for row in catalog().distributions.values() if not (row.kubelet or row.label or row.system)] == []
    clouds = [row for driver in drivers for row in driver.managed_by]
    assert [row.cloud for row in clouds if (row.node_label is None) == (row.device_class is None)] == []
    assert [name for driver in drivers for name in driver.attributes if name.count("/") != 1] == []


def test_each_sysctl_has_one_row() -> None:
    assert repeated(row.name for row in catalog().pod_settings.sysctls) == []
