{{/*
A section of the policy as JSON: list of the chart's scope, the values of the section, and the names of its own keys.
Keys without a value are left out; pull secrets are the section's own, or else the chart's.
*/}}
{{- define "section" -}}
{{- $root := index . 0 }}
{{- $values := index . 1 }}
{{- $section := dict "imagePullSecrets" ($values.imagePullSecrets | default $root.Values.imagePullSecrets) }}
{{- range $name := concat (list "repository" "image" "version") (index . 2) }}
{{- if and (hasKey $values $name) (ne (toString (index $values $name)) "") }}
{{- $_ := set $section $name (index $values $name) }}
{{- end }}
{{- end }}
{{- toJson $section }}
{{- end }}

{{/* The configuration text of the RDMA shared device plug-in; selectors that are not given are empty lists. */}}
{{- define "shared-resources" -}}
{{- $resources := list }}
{{- range . }}
{{- $selectors := dict }}
{{- $resource := . }}
{{- range $name := list "vendors" "deviceIDs" "drivers" "ifNames" "linkTypes" }}
{{- $_ := set $selectors $name (index $resource $name | default list) }}
{{- end }}
{{- $resources = append $resources (dict "resourceName" .name "rdmaHcaMax" (int (.rdmaHcaMax | default 63)) "selectors" $selectors) }}
{{- end }}
{{- toPrettyJson (dict "configList" $resources) }}
{{- end }}

{{/* The configuration text of the SR-IOV device plug-in; prefix and isRdma are fixed, whatever the values say. */}}
{{- define "virtual-resources" -}}
{{- $resources := list }}
{{- range . }}
{{- $selectors := dict "isRdma" true }}
{{- $resource := . }}
{{- range $name := list "vendors" "devices" "drivers" "pfNames" "pciAddresses" "rootDevices" "linkTypes" }}
{{- $_ := set $selectors $name (index $resource $name | default list) }}
{{- end }}
{{- $resources = append $resources (dict "resourcePrefix" "nvidia.com" "resourceName" .name "selectors" $selectors) }}
{{- end }}
{{- toPrettyJson (dict "resourceList" $resources) }}
{{- end }}
