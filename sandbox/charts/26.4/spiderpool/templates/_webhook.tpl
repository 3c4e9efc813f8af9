{{/*
A webhook's certificate, by the method that its values name: dict "root", "component", "service", "tls" (the section of
the values) and "ca" (of genCA, for method auto).
*/}}
{{- define "certificate" -}}
{{- $own := dict "root" .root "component" .component "name" .tls.secretName }}
{{- $host := printf "%s.%s.svc" .service .root.Release.Namespace }}
{{- $hosts := list .service (printf "%s.%s" .service .root.Release.Namespace) $host (printf "%s.%s" $host .root.Values.global.clusterDnsDomain) }}
{{- if eq .tls.method "certmanager" }}
{{- with .tls.certmanager }}
{{- $issuer := .issuerName | default (printf "%s-issuer" $.service) }}
{{- if not .issuerName }}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {{ include "metadata" (merge (dict "name" $issuer) $own) }}
spec:
  selfSigned: {}
---
{{- end }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{ include "metadata" $own }}
spec:
  secretName: {{ $.tls.secretName }}
  commonName: {{ $host }}
  duration: {{ mul .certValidityDuration 24 }}h
  dnsNames: {{ concat $hosts .extraDnsNames | toJson }}
  ipAddresses: {{ toJson .extraIPAddresses }}
  issuerRef: {kind: Issuer, name: {{ $issuer }}}
{{- end }}
{{- else }}
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {{ include "metadata" $own }}
data:
  {{- if eq .tls.method "provided" }}
  {{- $needed := printf "tls of %s: method provided needs tlsCert, tlsKey and tlsCa, each in base64" .service }}
  tls.crt: {{ required $needed .tls.provided.tlsCert }}
  tls.key: {{ required $needed .tls.provided.tlsKey }}
  ca.crt: {{ required $needed .tls.provided.tlsCa }}
  {{- else }}
  {{- $made := genSignedCert $host .tls.auto.extraIpAddresses (concat $hosts .tls.auto.extraDnsNames) (int .tls.auto.certExpiration) .ca }}
  tls.crt: {{ b64enc $made.Cert }}
  tls.key: {{ b64enc $made.Key }}
  ca.crt: {{ b64enc .ca.Cert }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where the API server asks, as JSON: dict "path", "controller" (its section of the values), "namespace", "bundle". */}}
{{- define "admission-client" -}}
{{- $service := dict "name" .controller.name "namespace" .namespace "port" (int .controller.webhookPort) "path" (printf "/%s" .path) }}
{{- dict "service" $service "caBundle" .bundle | toJson }}
{{- end }}
