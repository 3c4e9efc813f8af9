{{/* The controller's variables that the values set, as YAML. */}}
{{- define "controller-variables" -}}
{{- $gc := .Values.ipam.gc }}
{{- $controller := .Values.spiderpoolController }}
{{- range $name, $value := dict
  "ENABLED_METRIC" $controller.prometheus.enabled
  "METRIC_HTTP_PORT" $controller.prometheus.port
  "WEBHOOK_PORT" $controller.webhookPort
  "HEALTH_PORT" $controller.httpPort
  "GC_IP_ENABLED" $gc.enabled
  "GC_STATELESS_TERMINATING_POD_ON_READY_NODE_ENABLED" $gc.statelessPod.zombieOnReadyNode
  "GC_STATELESS_TERMINATING_POD_ON_NOT_READY_NODE_ENABLED" $gc.statelessPod.zombieOnNotReadyNode
  "GC_ENABLE_STATELESS_RUNNING_POD_ON_EMPTY_POD_STATUS_IPS" $gc.statelessPod.enableGcRunningPodOnEmptyPodStatusIPs
  "GC_ADDITIONAL_GRACE_DELAY" $gc.gcDeletingTimeOutPodDelay
  "GC_DEFAULT_INTERVAL_DURATION" $gc.gcAll.intervalInSecond
  "MULTUS_CONFIG_ENABLED" .Values.multus.enableMultusConfig
  "CNI_CONFIG_DIR" .Values.global.cniConfHostPath
  "COORDINATOR_ENABLED" .Values.coordinator.enabled
  "COORDINATOR_DEAFULT_NAME" .Values.coordinator.name
  "CILIUM_CONFIGMAP_NAMESPACE_NAME" .Values.global.ciliumConfigMap
  "CONTROLLER_DEPLOYMENT_NAME" $controller.name }}
- {name: SPIDERPOOL_{{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- range $name, $path := dict "NAME" "metadata.name" "NAMESPACE" "metadata.namespace" }}
- {name: SPIDERPOOL_POD_{{ $name }}, valueFrom: {fieldRef: {fieldPath: {{ $path }}}}}
{{- end }}
{{- end }}
