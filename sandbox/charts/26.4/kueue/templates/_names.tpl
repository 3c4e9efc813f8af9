{{- define "name" }}{{ contains "kueue" .Release.Name | ternary .Release.Name (printf "%s-kueue" .Release.Name) }}{{ end }}
{{- define "labels" }}{app.kubernetes.io/name: kueue, app.kubernetes.io/instance: {{ .Release.Name }}}{{ end }}
