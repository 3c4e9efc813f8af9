import * as pulumi from "@pulumi/pulumi";
import { GpuFabric } from "@pulumi/gpu-fabric";

const config = new pulumi.Config();
const supernets: Record<string, string> = { train: "192.168.0.0/16", research: "172.20.0.0/16" };

export const contracts = Object.entries(supernets).map(([name, supernet]) => {
    const fabric = new GpuFabric(name, {
        kubeconfig: config.requireSecret(`${name}-kubeconfig`),
        pools: [{ name: "gpu", shape: "BM.GPU.H100.8", nodes: 3 }],
        ranges: { pods: "10.244.0.0/16", services: "10.96.0.0/16", nodes: "10.0.0.0/16" },
        fabric: { model: "sriov", addressing: { supernet } },
        software: { releaseLine: "26.7" },
    });
    return fabric.contract;
});
