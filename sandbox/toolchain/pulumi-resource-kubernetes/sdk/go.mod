// In the place of the published SDK (the reason is in binaries.yaml): the few names of it that the plug-in's component
// resources use. yaml/v2's function registers one resource of any kind, for which the published one imports every kind.
module github.com/pulumi/pulumi-kubernetes/sdk/v4

go 1.25.0

require github.com/pulumi/pulumi/sdk/v3 v3.214.0
