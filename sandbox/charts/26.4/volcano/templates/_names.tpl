{{- define "setting" }}{{ index .own (printf "%s_%s" .values .key) | default (index .own (printf "default_%s" .key)) | toJson }}{{ end }}
{{- define "image" }}{{ .image_registry }}/{{ index . (printf "%s_image_name" .of) }}:{{ index . (printf "%s_image_tag_version" .of) | default .image_tag_version }}{{ end }}
{{- define "scheduler.conf" -}}
actions: "enqueue, allocate, backfill"
tiers:
  - plugins:
      - {name: priority}
      - {name: gang, enablePreemptable: false}
      - {name: conformance}
  - plugins:
      - {name: overcommit}
      - {name: drf, enablePreemptable: false}
      - {name: predicates}
      - {name: proportion}
      - {name: nodeorder}
      - {name: binpack}
{{- end }}
