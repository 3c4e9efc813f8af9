package main

import (
	"os"
	"os/exec"
	"path/filepath"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Set for runs of the sandbox's own commands: the first python3 on PATH runs plug-ins as well.
const ambient = "GPU_FABRIC_AMBIENT_PYTHON"

// pluginHost runs plug-ins and installs what they need, each by an older host that has the plug-in's own options.
type pluginHost struct{ engine []string }

// The requests of these methods the older host reads otherwise; all others are passed on.
var pythonMethods = grpc.ServiceDesc{
	ServiceName: pulumirpc.LanguageRuntime_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{
		{StreamName: "RunPlugin", ServerStreams: true, Handler: runPlugin},
		{StreamName: "InstallDependencies", ServerStreams: true, Handler: installDependencies},
	},
}

func runPlugin(server any, stream grpc.ServerStream) error {
	request := &pulumirpc.RunPluginRequest{}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	request.Program = request.Info.ProgramDirectory //nolint:staticcheck // what the older host reads
	if python, err := exec.LookPath("python3"); err == nil && os.Getenv(ambient) != "" {
		request.Env = append(request.Env, "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH")) // as of an environment
	}
	return server.(*pluginHost).call(request, request.Info, stream)
}

func installDependencies(server any, stream grpc.ServerStream) error {
	request := &pulumirpc.InstallDependenciesRequest{}
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	if os.Getenv(ambient) != "" {
		return nil // nothing is installed into the environment that runs the sandbox
	}
	return server.(*pluginHost).call(request, request.Info, stream)
}

func (host *pluginHost) call(request proto.Message, info *pulumirpc.ProgramInfo, stream grpc.ServerStream) error {
	options := []string{}
	if chosen := info.Options.GetFields()["virtualenv"].GetStringValue(); chosen != "" && os.Getenv(ambient) == "" {
		options = append(options, "-root", info.ProgramDirectory, "-virtualenv", chosen)
	}
	own, err := start("python-host/pulumi-language-python", append(options, host.engine...))
	if err != nil {
		return err
	}
	defer own.stop()
	content, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	return own.forward(nil, &received{stream, content})
}

// received is a stream whose one request was read before.
type received struct {
	grpc.ServerStream
	content []byte
}

func (stream *received) RecvMsg(message any) error {
	*message.(*frame) = stream.content
	return nil
}
