"""What of Oracle's exists already; what is asked for is in rows/oke.yaml."""

from __future__ import annotations

from planned_oke import record_of, resources_of


def test_existing_resources_are_taken_over_by_their_ids_and_all_others_are_created() -> None:
    ids = {
        "vcn": "ocid1.vcn.oc1.iad.mine",
        "subnet-workers": "ocid1.subnet.oc1.iad.mine",
        "cluster": "ocid1.cluster.oc1.iad.mine",
        "system-pool": "ocid1.nodepool.oc1.iad.mine",
        "pool-gpu": "ocid1.clusternetwork.oc1.iad.mine",
    }
    found = resources_of("oke-h100-26-4", {"cluster.adopt": ids})

    assert {record.logical_name: record.adopts for record in found.records if record.adopts} == ids
    assert record_of(found, "pool-gpu").ignore_changes == tuple(record_of(found, "pool-gpu").arguments)
    assert [record.logical_name for record in found.records] == [
        record.logical_name for record in resources_of("oke-h100-26-4").records
    ]
