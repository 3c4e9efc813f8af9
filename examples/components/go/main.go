package main

import (
	"example.com/pulumi-gpu-fabric/sdk/go/gpufabric"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		for name, supernet := range map[string]string{"train": "192.168.0.0/16", "research": "172.20.0.0/16"} {
			fabric, err := gpufabric.NewGpuFabric(ctx, name, &gpufabric.GpuFabricArgs{
				Kubeconfig: settings.RequireSecret(name + "-kubeconfig"),
				Pools: []gpufabric.GpuPoolInput{
					gpufabric.GpuPoolArgs{Name: "gpu", Shape: "BM.GPU.H100.8", Nodes: 3},
				},
				Ranges: &gpufabric.RangesArgs{
					Pods:     pulumi.StringRef("10.244.0.0/16"),
					Services: pulumi.StringRef("10.96.0.0/16"),
					Nodes:    pulumi.StringRef("10.0.0.0/16"),
				},
				Fabric: &gpufabric.FabricArgs{
					Model:      pulumi.StringRef("sriov"),
					Addressing: &gpufabric.AddressingArgs{Supernet: pulumi.StringRef(supernet)},
				},
				Software: &gpufabric.SoftwareArgs{ReleaseLine: pulumi.StringRef("26.7")},
			})
			if err != nil {
				return err
			}
			ctx.Export(name, fabric.Contract)
		}
		return nil
	})
}
