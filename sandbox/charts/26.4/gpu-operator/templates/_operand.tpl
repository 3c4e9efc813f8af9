{{/*
A DaemonSet of the operator: dict "root" (the chart's scope), "name", and "image" (a full reference) or, where its pod
has several containers, "containers" (each with name and image); "plays" is what the sandbox's hardware takes its pods
for. It runs where Node Feature Discovery found a GPU, and
there only if daemonsets.tolerations allow it.
*/}}
{{- define "operand" -}}
{{- $set := .root.Values.daemonsets }}
{{- $labels := merge (dict "app" .name "app.kubernetes.io/part-of" "gpu-operator") $set.labels }}
{{- /* A driver is replaced when something deletes its pod, whatever the values say (assets/state-driver of v26.3.3). */}}
{{- $strategy := ternary "OnDelete" $set.updateStrategy (eq .name "nvidia-driver-daemonset") }}
{{- $played := ternary (dict "sandbox.gpu-fabric/operand" .plays) dict (hasKey . "plays") }}
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{ toJson $labels }}
spec:
  selector:
    matchLabels: {app: {{ .name }}}
  updateStrategy:
    type: {{ $strategy }}
    {{- if eq $strategy "RollingUpdate" }}
    rollingUpdate: {maxUnavailable: {{ if contains "%" (toString $set.rollingUpdate.maxUnavailable) }}{{ quote $set.rollingUpdate.maxUnavailable }}{{ else }}{{ int $set.rollingUpdate.maxUnavailable }}{{ end }}}
    {{- end }}
  template:
    metadata:
      labels: {{ merge $played $labels | toJson }}
      annotations: {{ toJson $set.annotations }}
    spec:
      serviceAccountName: {{ .name }}
      priorityClassName: {{ $set.priorityClassName }}
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations: {{ toJson $set.tolerations }}
      containers:
        {{- range .containers | default (list (dict "name" .name "image" .image)) }}
        - name: {{ .name }}
          image: {{ .image }}
          # As privileged as the real one, so that Pod Security refuses it where it would refuse that.
          securityContext: {privileged: true}
        {{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- define "image" -}}
{{ .repository }}/{{ .image }}:{{ .version }}
{{- end }}

{{/* Of a section (first argument) those keys that are listed (second argument), as JSON. */}}
{{- define "fields" -}}
{{- $kept := dict }}
{{- $listed := index . 1 }}
{{- range $key, $value := index . 0 }}
{{- if has $key $listed }}{{ $_ := set $kept $key $value }}{{ end }}
{{- end }}
{{- toJson $kept }}
{{- end }}
