{{- define "name" -}}
{{- $own := .Values.nameOverride | default .Chart.Name }}
{{- .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $own) (contains $own .Release.Name)) }}
{{- end }}

{{- define "namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "labels" -}}
{{- $own := .Values.nameOverride | default .Chart.Name }}
{{- dict "app" $own "app.kubernetes.io/name" $own "app.kubernetes.io/instance" .Release.Name | toJson }}
{{- end }}
