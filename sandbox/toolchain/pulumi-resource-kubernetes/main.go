// The Pulumi Kubernetes resource plug-in, served with a schema just large enough
// for preview, up, refresh and destroy: the full one only serves code generation.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, []byte("{}"))
}
