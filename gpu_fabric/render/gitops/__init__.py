"""The cluster part of a plan as files for kustomize, Argo CD or Flux."""
