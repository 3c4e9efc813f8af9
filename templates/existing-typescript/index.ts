import * as kubernetes from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { GpuFabric } from "@pulumi/gpu-fabric";

const config = new pulumi.Config();
const kubeconfig = config.requireSecret("kubeconfig");

const rdma = new GpuFabric("fabric", {
    kubeconfig,
    pools: [{ name: "gpu", shape: config.require("shape"), nodes: config.requireNumber("nodes") }],
    ranges: {
        pods: config.require("podRange"),
        services: config.require("serviceRange"),
        nodes: config.require("nodeRange"),
    },
    fabric: { addressing: { supernet: config.require("supernet") } },
    // Release line, charts and operators, as in the section `software` of a stack file.
    software: { releaseLine: "26.7", ...config.getObject<object>("software") },
});

// A resource of your own: `gpu-fabric attach --contract` reads it, to add the fabric to the manifest of a job.
new kubernetes.core.v1.ConfigMap(
    "contract",
    {
        metadata: { name: "fabric-contract", namespace: "default" },
        data: { "fabric.json": pulumi.jsonStringify(rdma.contract) },
    },
    { provider: new kubernetes.Provider("cluster", { kubeconfig }) },
);

export const fabric = rdma.contract;
