package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// The exit status of a program in TypeScript that has reported its errors itself (sdk/v3.259.0/nodejs/cmd/run/index.ts).
const reported = 32

// GetRequiredPackages names none: the project's file has the folders of its packages.
func (host *generator) GetRequiredPackages(
	context.Context, *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	return &pulumirpc.GetRequiredPackagesResponse{}, nil
}

// Run runs a program whose packages are installed, or that is compiled: what the engine says of the run it reads from its
// environment and arguments (sdk/v3.259.0: go/pulumi/run.go, nodejs/cmd/run/index.ts and nodejs/runtime/config.ts).
func (host *generator) Run(_ context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	process, err := host.program(request)
	if err != nil {
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
	config, err := json.Marshal(request.Config)
	if err != nil {
		return nil, err
	}
	secret, err := json.Marshal(request.ConfigSecretKeys)
	if err != nil {
		return nil, err
	}
	process.Dir = request.Info.ProgramDirectory
	process.Env = append(append(os.Environ(), process.Env...),
		"PULUMI_CONFIG="+string(config), "PULUMI_CONFIG_SECRET_KEYS="+string(secret))
	process.Stdout, process.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	switch err := process.Run(); {
	case errors.As(err, &exit) && exit.ExitCode() == reported:
		return &pulumirpc.RunResponse{Bail: true}, nil
	case err != nil:
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program: %v", err)}, nil
	}
	return &pulumirpc.RunResponse{}, nil
}

func (host *generator) program(request *pulumirpc.RunRequest) (*exec.Cmd, error) {
	folder, engine := request.Info.ProgramDirectory, host.engine
	values := [][2]string{
		{"organization", request.Organization}, {"project", request.Project}, {"stack", request.Stack},
		{"monitor", request.MonitorAddress}, {"engine", engine}, {"parallel", strconv.Itoa(int(request.Parallel))},
		{"dry-run", strconv.FormatBool(request.DryRun)}, {"root-directory", request.Info.RootDirectory},
	}
	switch host.language {
	case "nodejs":
		arguments := []string{filepath.Join(folder, "node_modules", "@pulumi", "pulumi", "cmd", "run")}
		for _, value := range values {
			if value[0] != "dry-run" {
				arguments = append(arguments, "--"+value[0], value[1])
			} else if request.DryRun {
				arguments = append(arguments, "--dry-run")
			}
		}
		process := exec.Command("node", append(arguments, request.Info.EntryPoint)...)
		process.Env = []string{"PULUMI_NODEJS_TYPESCRIPT=true"}
		return process, nil
	case "go":
		binary := request.Info.Options.GetFields()["binary"].GetStringValue()
		if binary == "" {
			return nil, errors.New("a program in Go is compiled before: name it by the option `binary` of the runtime")
		}
		process := exec.Command(filepath.Join(folder, binary))
		for _, value := range values {
			process.Env = append(process.Env, variables[value[0]]+"="+value[1])
		}
		return process, nil
	}
	return nil, fmt.Errorf("no program in the language %s is run: in nodejs and go it is", host.language)
}

// What a program in Go reads.
var variables = map[string]string{
	"organization": "PULUMI_ORGANIZATION", "project": "PULUMI_PROJECT", "stack": "PULUMI_STACK",
	"monitor": "PULUMI_MONITOR", "engine": "PULUMI_ENGINE", "parallel": "PULUMI_PARALLEL",
	"dry-run": "PULUMI_DRY_RUN", "root-directory": "PULUMI_ROOT_DIRECTORY",
}
