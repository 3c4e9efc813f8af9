"""Stack files that are no stack files: text that YAML, or this program, does not take."""

from __future__ import annotations

_POOL = "pools: [{name: gpu, shape: BM.GPU.H100.8, nodes: 3}]"

UNREADABLE: dict[str, bytes] = {
    "it is empty": b"",
    "it is a list": b"- gpu-fabric:cluster\n",
    "it has no config": b"gpu-fabric:cluster: {provider: existing}\n",
    "its config is empty": b"config:\n",
    "its config is a list": b"config:\n  - gpu-fabric:cluster\n",
    "a bracket is not closed": b"config:\n  gpu-fabric:cluster: {provider: existing, pools: [}\n",
    "it is indented by tabs": b"config:\n\tgpu-fabric:cluster: {}\n",
    "a colon has no space after it": b"config:\n  gpu-fabric:cluster: provider: existing\n",
    "a quote is not closed": b'config:\n  gpu-fabric:software: {releaseLine: "26.4}\n',
    "it is not UTF-8": b"config:\n  gpu-fabric:cluster: {context: \xff\xfe}\n",
    "it holds itself": b"config:\n  gpu-fabric:cluster: &a {pools: *a}\n",
    "a key of it is a list": b"config:\n  gpu-fabric:cluster: {? [a, b] : c}\n",
    "an anchor is not there": b"config:\n  gpu-fabric:cluster: *common\n",
    "a section is there twice": b"config:\n  gpu-fabric:fabric: {mtu: 4220}\n  gpu-fabric:fabric: {model: sriov}\n",
    "a key is there twice": f"config:\n  gpu-fabric:cluster:\n    {_POOL}\n    {_POOL}\n".encode(),
    "a key of a pool is there twice": f"config: {{gpu-fabric:cluster: {{{_POOL[:-2]}, nodes: 4}}]}}}}\n".encode(),
}
"""What is wrong with a file, and the file."""
