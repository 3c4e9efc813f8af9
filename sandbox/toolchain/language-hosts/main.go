// Language hosts in the place of those that no module proxy serves in the CLI's version.
//
// The name by which the program is started is the language: pulumi-language-nodejs and pulumi-language-go generate SDKs by
// the CLI's own generators, and run programs; pulumi-language-python and pulumi-language-yaml pass everything to an older host but what
// it cannot do for this CLI.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// How often it is asked whether the engine still runs.
const pause = time.Second

// What is passed on goes to these. The launcher starts the Python host with the options of the project; the host for YAML
// looks for the one for Python in its own folder.
var olderHosts = map[string]string{"python": "python-host/launcher", "yaml": "older-language-yaml"}

func main() {
	flag.String("tracing", "", "where to send traces; not used")
	flag.String("root", "", "the project's folder; not used")
	flag.Parse()
	if err := serve(strings.TrimPrefix(filepath.Base(os.Args[0]), "pulumi-language-"), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve prints the port on which the host answers, as the engine expects it, and ends when the engine ends.
func serve(language string, arguments []string) error {
	options := rpcutil.ServeOptions{Cancel: make(chan bool)}
	if len(arguments) > 0 {
		if err := rpcutil.Healthcheck(background, arguments[0], pause, func() { close(options.Cancel) }); err != nil {
			return fmt.Errorf("the engine at %s: %w", arguments[0], err)
		}
	}
	switch language {
	case "python":
		options.Init = registered(&pythonMethods, &pluginHost{engine: arguments})
	case "yaml":
		options.Init = registered(&yamlMethods, nil)
	default:
		engine := strings.Join(arguments, "")
		options.Init = registered(
			&pulumirpc.LanguageRuntime_ServiceDesc, &generator{language: language, engine: engine})
	}
	if path, found := olderHosts[language]; found {
		host, err := start(path, arguments)
		if err != nil {
			return err
		}
		defer host.stop()
		options.Options = []grpc.ServerOption{
			grpc.ForceServerCodec(codec{}), grpc.UnknownServiceHandler(host.forward),
		}
	}
	handle, err := rpcutil.ServeWithOptions(options)
	if err != nil {
		return err
	}
	fmt.Println(handle.Port)
	return <-handle.Done
}

func registered(methods *grpc.ServiceDesc, host any) func(*grpc.Server) error {
	return func(server *grpc.Server) error {
		server.RegisterService(methods, host)
		return nil
	}
}
