{{/*
The labels of the series of this release, as matchers: those that the Prometheus operator gives to what one monitor of
the chart finds. Empty where the chart cannot know them.
*/}}
{{- define "muster.scrapedAs" -}}
{{- $pods := .Values.metrics.podMonitor }}
{{- $services := .Values.metrics.serviceMonitor }}
{{- $own := ternary $pods $services $pods.enabled }}
{{- if and $own.enabled (not $own.relabelings) (not $own.metricRelabelings) }}
{{- $here := include "muster.namespace" . }}
{{- $name := include "muster.fullname" . }}
{{- printf "namespace=%q,job=%q" $here (ternary (printf "%s/%s" $here $name) (printf "%s-ops" $name) $pods.enabled) }}
{{- end }}
{{- end }}
