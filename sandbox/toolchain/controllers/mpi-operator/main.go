// The MPI operator with a port of its own for health checks: upstream's has 8080, which processes of one machine cannot
// share. Flags are those of upstream's main program.
package main

import (
	"flag"
	"os"
	"strconv"
	_ "unsafe"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app"
	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	"k8s.io/klog/v2"
)

//go:linkname healthCheckPort github.com/kubeflow/mpi-operator/cmd/mpi-operator/app.healthCheckPort
var healthCheckPort int

func main() {
	klog.InitFlags(nil)
	wanted := options.NewServerOption()
	wanted.AddFlags(flag.CommandLine)
	flag.Parse()
	if port, err := strconv.Atoi(os.Getenv("MPI_OPERATOR_HEALTH_PORT")); err == nil {
		healthCheckPort = port
	}
	if err := app.Run(wanted); err != nil {
		klog.Fatal(err)
	}
}
