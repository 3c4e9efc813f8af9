// Package helm has the options of Helm charts that the plug-in reads.
package helm

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// RepositoryOpts says how a chart repository is reached.
type RepositoryOpts struct {
	CaFile   pulumi.AssetOrArchive
	CertFile pulumi.AssetOrArchive
	KeyFile  pulumi.AssetOrArchive
	Username *string
	Password *string
	Repo     *string
}

// PostRenderer is a command that changes what a chart renders.
type PostRenderer struct {
	Args    []string
	Command string
}

// RepositoryOptsInput and PostRendererInput are inputs of the component kind Chart, which this build refuses.
type (
	RepositoryOptsInput interface{ pulumi.Input }
	PostRendererInput   interface{ pulumi.Input }
)
