// Package v2 refuses the component kinds, which would create each resource by its own generated type.
package v2

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource refuses the resource.
func RegisterResource(_ *pulumi.Context, apiVersion, kind, name string, _ pulumi.Input,
	_ ...pulumi.ResourceOption,
) (pulumi.CustomResource, error) {
	return nil, fmt.Errorf("%s %s (%s): ConfigFile, ConfigGroup, Chart and Directory are not part of the sandbox's plug-in",
		apiVersion, kind, name)
}
