// Package common refuses to write settings of OpenShift's machines.
package common

import (
	"errors"

	v1 "github.com/openshift/api/machineconfiguration/v1"
)

var errRefused = errors.New("settings of OpenShift's machines are not part of the sandbox's operator")

// TranspileCoreOSConfigToIgn refuses the units.
func TranspileCoreOSConfigToIgn(_, _ []string) (any, error) {
	return nil, errRefused
}

// MachineConfigFromIgnConfig refuses the settings.
func MachineConfigFromIgnConfig(_, _ string, _ any) (*v1.MachineConfig, error) {
	return nil, errRefused
}
