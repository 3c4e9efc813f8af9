{{- define "own-name" -}}
{{ .Values.global.nameOverride | default "spiderpool" }}
{{- end }}

{{/* What pods of a component are selected by, as JSON: dict "root" (the chart's scope) and "component". */}}
{{- define "selector" -}}
{{- dict "app.kubernetes.io/name" (include "own-name" .root) "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/component" .component | toJson }}
{{- end }}

{{/*
The metadata of an object, as JSON: dict "root", "name" and "component"; where wanted "labels" and "annotations" of its
own, another "namespace", "cluster" (true) for an object without namespace, and "played" (true) for one whose controller
the sandbox plays.
*/}}
{{- define "metadata" -}}
{{- $global := .root.Values.global }}
{{- $labels := merge (fromJson (include "selector" .)) (.labels | default dict) $global.commonLabels }}
{{- if .played }}{{ $_ := set $labels "sandbox.gpu-fabric/played-by" "spiderpool" }}{{ end }}
{{- $metadata := dict "name" .name "labels" $labels "annotations" (merge (dict) (.annotations | default dict) $global.commonAnnotations) }}
{{- if not .cluster }}{{ $_ := set $metadata "namespace" (.namespace | default .root.Release.Namespace) }}{{ end }}
{{- toJson $metadata }}
{{- end }}

{{/* The metadata of a component's pods, as JSON: as above, and "operand" for pods whose start has effects. */}}
{{- define "pod-metadata" -}}
{{- $labels := merge (fromJson (include "selector" .)) (.labels | default dict) }}
{{- if .operand }}{{ $_ := set $labels "sandbox.gpu-fabric/operand" .operand }}{{ end }}
{{- dict "labels" $labels "annotations" (.annotations | default dict) | toJson }}
{{- end }}

{{/* An image's full reference: dict "root" and "image" with registry, repository, and digest or tag. */}}
{{- define "image" -}}
{{- $registry := .root.Values.global.imageRegistryOverride | default .image.registry }}
{{- $tag := .image.tag | default (printf "v%s" .root.Chart.AppVersion) }}
{{- printf "%s/%s%s" $registry .image.repository (ternary (printf "@%s" .image.digest) (printf ":%s" $tag) (not (empty .image.digest))) }}
{{- end }}
