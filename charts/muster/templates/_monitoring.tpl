{{/*
The labels of the series of this release, as matchers: those that the Prometheus operator gives to what one monitor of
the chart finds. Empty where the chart cannot know them.
*/}}
{{- define "muster.scrapedAs" -}}
{{- $pods := .Values.metrics.podMonitor }}
{{- $services := .Values.metrics.serviceMonitor }}
{{- $own := ternary $pods $services $pods.enabled }}
{{- if and $own.enabled (not $own.relabelings) (not $own.metricRelabelings) }}
{{- $job := ternary (printf "%s/%s" .Release.Namespace (include "muster.fullname" .)) (printf "%s-ops" (include "muster.fullname" .)) $pods.enabled }}
{{- printf "namespace=%q,job=%q" .Release.Namespace $job }}
{{- end }}
{{- end }}
