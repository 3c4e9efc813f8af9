module two-clusters

go 1.25

require (
	example.com/pulumi-gpu-fabric/sdk/go v0.0.0
	github.com/pulumi/pulumi/sdk/v3 v3.259.0
)

replace example.com/pulumi-gpu-fabric/sdk/go => ./sdks/gpu-fabric
