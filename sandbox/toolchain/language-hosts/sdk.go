package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
)

// generator is a language host that generates SDKs, and runs programs that are installed or compiled.
type generator struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	language, engine string
}

func (host *generator) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{}, nil
}

// Link is left to the program, whose files name the SDK's folder.
func (host *generator) Link(context.Context, *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	return &pulumirpc.LinkResponse{}, nil
}

// InstallDependencies is left to the language's own command.
func (host *generator) InstallDependencies(
	*pulumirpc.InstallDependenciesRequest, pulumirpc.LanguageRuntime_InstallDependenciesServer,
) error {
	return nil
}

func (host *generator) GeneratePackage(
	_ context.Context, request *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	client, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	loader := schema.NewCachedLoader(client)
	var written schema.PackageSpec
	if err := json.Unmarshal([]byte(request.Schema), &written); err != nil {
		return nil, err
	}
	pkg, problems, err := schema.BindSpec(written, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GeneratePackageResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(problems)}
	if problems.HasErrors() {
		return response, nil
	}
	files, err := host.files(pkg, request, loader)
	if err != nil {
		return nil, err
	}
	return response, write(request.Directory, files)
}

func (host *generator) files(
	pkg *schema.Package, request *pulumirpc.GeneratePackageRequest, loader schema.ReferenceLoader,
) (map[string][]byte, error) {
	tool := "pulumi-language-" + host.language
	switch host.language {
	case "nodejs":
		return nodejs.GeneratePackage(
			tool, pkg, request.ExtraFiles, request.LocalDependencies, request.Local, loader)
	case "go":
		return gogen.GeneratePackage(tool, pkg, request.LocalDependencies)
	}
	return nil, fmt.Errorf("no generator for the language %s: nodejs and go have one", host.language)
}

func write(folder string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
