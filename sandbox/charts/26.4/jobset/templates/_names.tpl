{{- define "name" }}{{ contains "jobset" .Release.Name | ternary .Release.Name (printf "%s-jobset" .Release.Name) }}{{ end }}
{{- define "labels" }}{app.kubernetes.io/name: jobset, app.kubernetes.io/instance: {{ .Release.Name }}}{{ end }}
