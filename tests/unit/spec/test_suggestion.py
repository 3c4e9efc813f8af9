"""What is suggested for a word that is not known."""

from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.suggestion import nearest, nearest_shapes

SHAPES = catalog().shapes.values()


def refused(folder: Path, text: str) -> str:
    (folder / "Pulumi.lab.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        prepare(read_document("lab", folder), for_up=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("bm.gpu.h100.8", "BM.GPU.H100.8"),
        ("H100", "BM.GPU.H100.8"),
        ("BM.GPU.H100", "BM.GPU.H100.8"),
        ("MI300X", "BM.GPU.MI300X.8"),
        ("server.dgx-h100", "server.dgx-h100.8"),
        ("DGX-H200", "server.dgx-h200.8"),
        ("gpu-h200x8-1128gb-fabric", "gpu-h200x8-1128gb-fabric-contracted"),
        ("rtxpro", "BM.GPU.RTXPRO.8"),
    ],
)
def test_the_shape_that_was_probably_meant_comes_first(written: str, first: str) -> None:
    assert nearest_shapes(written, SHAPES).startswith(f"did you mean {first!r}")


def test_every_shape_is_found_by_its_name_in_other_letters() -> None:
    for shape in SHAPES:
        assert nearest_shapes(shape.name.swapcase(), SHAPES) == f"did you mean {shape.name!r}? "


def test_only_shapes_with_the_model_and_count_that_were_written_are_suggested() -> None:
    by_name = {shape.name: shape for shape in SHAPES}
    for shape in SHAPES:
        model = (shape.gpus.model or "").split("-")[0].replace(" ", "")
        suggested = nearest_shapes(f"my-{model}x{shape.gpus.count}-9999gb", SHAPES).split("'")[1::2] if model else []
        for name in suggested:
            assert (by_name[name].gpus.model or "").split("-")[0].replace(" ", "") == model
            assert by_name[name].gpus.count == shape.gpus.count


@pytest.mark.parametrize(
    "size", ["s-8vcpu-16gb", "c-16", "so1_5-4vcpu-32gb", "g-2vcpu-8gb-intel", "VM.Standard.E4.Flex"]
)
def test_a_size_without_gpus_is_said_to_have_none(size: str) -> None:
    assert nearest_shapes(size, SHAPES).startswith("it has no GPU") or size == "c-16"


def test_a_cloud_stack_is_offered_that_clouds_shapes_alone(tmp_path: Path) -> None:
    text = refused(
        tmp_path,
        "config:\n  gpu-fabric:cluster:\n    provider: doks\n    region: nyc2\n    version: '1.36'\n"
        "    pools: [{name: gpu, shape: H200, nodes: 1}]\n",
    )

    assert "did you mean 'gpu-h200x8-1128gb-fabric-contracted'" in text
    assert "BM.GPU" not in text


@pytest.mark.parametrize(("word", "known"), [("DEV", "dev"), ("Dev", "dev"), ("oke-H100", "oke-h100"), ("dve", "dev")])
def test_a_word_is_found_in_other_letters(word: str, known: str) -> None:
    assert nearest(word, ["dev", "oke-h100", "doks"]) == f"did you mean {known!r}? "


def test_a_missing_provider_is_said_with_the_choices_and_the_rest_is_judged_by_the_one_that_fits(
    tmp_path: Path,
) -> None:
    text = refused(
        tmp_path,
        "config:\n  gpu-fabric:cluster:\n    region: nyc2\n    version: '1.36'\n"
        "    pools: [{name: gpu, shape: H200, nodes: 0}]\n",
    )

    assert "-> add provider: existing or doks or oke" in text
    assert "pools[0].nodes: must be greater than or equal to 1" in text
    assert "kubeconfig" not in text


@pytest.mark.parametrize(
    ("config", "key", "remedy"),
    [
        ("  cluster: {}\n", "2:3: cluster", "write gpu-fabric:cluster"),
        ("  gpufabric:fabric: {}\n", "2:3: gpufabric:fabric", "write gpu-fabric:fabric"),
        ("  gpu_fabric:cluster: {}\n", "2:3: gpu_fabric:cluster", "write gpu-fabric:cluster"),
        ("  gpu-fabric:cluster: {}\n  gpu-fabric:cluster.nodes: 3\n", "3:3: gpu-fabric:cluster.nodes",
            "`pulumi config set --path gpu-fabric:cluster.nodes`"),
        ('  "gpu-fabric:cluster.pools[0].nodes": 3\n', "2:3: gpu-fabric:cluster.pools[0].nodes",
            "`pulumi config set --path gpu-fabric:cluster.pools[0].nodes`"),
    ],
)  # fmt: skip
def test_a_section_under_another_name_is_answered_with_the_right_one(
    tmp_path: Path, config: str, key: str, remedy: str
) -> None:
    text = refused(tmp_path, f"config:\n{config}")

    position, _, name = key.partition(" ")
    assert f"Pulumi.lab.yaml:{position} error SPC001 {name}: this key is not known" in text
    assert remedy in text


def test_sections_of_other_projects_are_left_alone(tmp_path: Path) -> None:
    text = refused(tmp_path, "config:\n  aws:cluster: {}\n  other:fabric: {}\n  gpu-fabric:fabric: {modell: sriov}\n")

    assert "aws:cluster" not in text
    assert "other:fabric" not in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("encryptionsalt: v1:x\n", "it holds only what `pulumi stack init` writes"),
        ("a: 1\n", "has no `config:` mapping"),
    ],
)
def test_a_file_without_configuration_is_answered_with_what_to_write(tmp_path: Path, text: str, problem: str) -> None:
    shown = refused(tmp_path, text)

    assert problem in shown
    assert "write config: and, indented below it, gpu-fabric:cluster:" in shown
    assert "correct the file" not in shown


def test_a_file_with_the_encryption_alone_is_answered_with_the_example_to_append(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/Pulumi.lab.yaml").write_text("config: {}\n", encoding="utf-8")

    assert "append it: cat examples/Pulumi.lab.yaml >> Pulumi.lab.yaml" in refused(tmp_path, "encryptionsalt: v1:x\n")
