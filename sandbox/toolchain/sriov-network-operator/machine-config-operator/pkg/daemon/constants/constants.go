// Package constants names what OpenShift writes on its nodes.
package constants

// DesiredMachineConfigAnnotationKey is the annotation of a node with the settings that it is to get.
const DesiredMachineConfigAnnotationKey = "machineconfiguration.openshift.io/desiredConfig"
