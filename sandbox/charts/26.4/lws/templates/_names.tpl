{{- define "labels" }}{app.kubernetes.io/name: lws, app.kubernetes.io/instance: {{ .Release.Name }}}{{ end }}
