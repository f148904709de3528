{{/*
The groups of a file of rules with what the user has tuned, as a YAML list: dict root, path. The files have the numbers, and
are what the tests of the alerts read; a threshold takes the place of the one number that an alert compares with.
*/}}
{{- define "muster.ruleGroups" -}}
{{- $own := .root.Values.metrics.prometheusRule -}}
{{- $groups := list -}}
{{- /* Rules on what is absent have the labels of their selector alone. */ -}}
{{- $text := regexReplaceAll "\\b(muster_build_info|up)\\{\\}" (.root.Files.Get .path) (printf "${1}{%s}" (include "muster.scrapedAs" .root)) -}}
{{- range (fromYaml $text).groups -}}
{{- $rules := list -}}
{{- range $rule := .rules -}}
{{- $tuned := index $own.rules (default "" .alert) | default dict -}}
{{- if and (eq (default "" .alert) "MusterDown") (eq (toString $own.absent) "false") -}}
{{- $_ := set $rule "expr" (regexReplaceAll (include "muster.withoutTargets" $) $rule.expr "") -}}
{{- end -}}
{{- with $own.additionalAggregationLabels -}}
{{- $_ := set $rule "expr" (regexReplaceAll "\\b(by|on) *\\(([^()]+)\\)" $rule.expr (printf "${1} (${2}, %s)" (join ", " .))) -}}
{{- end -}}
{{- if .alert -}}
{{- with $tuned.for }}{{ $_ := set $rule "for" . }}{{ end -}}
{{- if not (kindIs "invalid" $tuned.threshold) -}}
{{- $_ := set $rule "expr" (regexReplaceAll (include "muster.threshold" $) $rule.expr (printf "${1}%v" $tuned.threshold)) -}}
{{- end -}}
{{- $severity := ternary (dict "severity" $tuned.severity) dict (hasKey $tuned "severity") -}}
{{- with merge $severity $own.additionalRuleLabels (default dict $rule.labels) }}{{ $_ := set $rule "labels" . }}{{ end -}}
{{- with $own.runbookUrl -}}
{{- $_ := set $rule.annotations "runbook_url" (regexReplaceAll "^[^#]*" $rule.annotations.runbook_url .) -}}
{{- end -}}
{{- $_ := set $rule "annotations" (merge (deepCopy $own.additionalRuleAnnotations) $rule.annotations) -}}
{{- end -}}
{{- if ne (toString $tuned.enabled) "false" }}{{ $rules = append $rules $rule }}{{ end -}}
{{- end -}}
{{- if $rules }}{{ $groups = append $groups (merge (dict "rules" $rules) .) }}{{ end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end }}

{{/* The parts of MusterDown about an installation without a target, as they stand in the file. */}}
{{- define "muster.withoutTargets" -}}
(?s)\n  or\n    0 \* count by [^\n]*last_over_time.*\[1h\]\)\n    \)
{{- end }}

{{/* A comparison with a number that is not 0: a number with a point, or a product such as 26 * 3600. */}}
{{- define "muster.threshold" -}}
([<>]=? )(?:0\.[0-9]+|[1-9][0-9.]*)(?: \* [0-9]+)*
{{- end }}

{{/* Each tuned alert is there, and has a threshold where it is given one. */}}
{{- define "muster.validateRules" -}}
{{- $alerts := list -}}
{{- $compare := list -}}
{{- range $path, $_ := .Files.Glob "files/rules/*.yaml" -}}
{{- range (fromYaml ($.Files.Get $path)).groups -}}
{{- range .rules -}}
{{- if .alert }}{{ $alerts = append $alerts .alert }}{{ end -}}
{{- $numbers := regexFindAll (include "muster.threshold" $) .expr -1 -}}
{{- if and .alert (eq (len $numbers) 1) }}{{ $compare = append $compare .alert }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $alert, $tuned := .Values.metrics.prometheusRule.rules -}}
{{- if not (has $alert $alerts) }}{{ fail (printf "metrics.prometheusRule.rules.%s: there is no such alert" $alert) }}{{ end -}}
{{- if and (hasKey $tuned "threshold") (not (has $alert $compare)) -}}
{{- fail (printf "metrics.prometheusRule.rules.%s.threshold: it compares with no single number. These do: %s" $alert (join ", " $compare)) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* An object of monitoring, which may lie in another namespace beside those of other releases: dict root, own, name. */}}
{{- define "muster.monitoringMetadata" -}}
{{- $elsewhere := default "" .own.namespace -}}
{{- $name := ternary .name (printf "%s-%s" (include "muster.namespace" .root) .name) (empty $elsewhere) -}}
{{- include "muster.metadata" (dict "root" .root "name" $name "namespace" $elsewhere "labels" .own.labels "annotations" .own.annotations) -}}
{{- end }}
