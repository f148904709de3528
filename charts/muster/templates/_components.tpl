{{/* What may be another for each Deployment of a split. */}}
{{- define "muster.ownKeys" -}}
[replicas, autoscaling, podDisruptionBudget, resources, nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName, podLabels, podAnnotations, extraEnv]
{{- end }}

{{/* The Deployments, as YAML: `items`, each with name, component, roles and its own values. */}}
{{- define "muster.components" -}}
{{- $root := . -}}
{{- $controller := list "controller" -}}
{{- if .Values.operator.enabled }}{{ $controller = append $controller "kubernetes" }}{{ end -}}
{{- $items := list -}}
{{- if .Values.split.enabled -}}
{{- range $component, $roles := dict "api" (list "api") "device" (list "device") "controller" $controller -}}
{{- $items = append $items (dict "component" $component "suffix" (printf "-%s" $component) "roles" $roles "own" (index $root.Values.split $component)) -}}
{{- end -}}
{{- else -}}
{{- $items = list (dict "component" "all" "suffix" "" "roles" (concat (list "api" "device") $controller) "own" dict) -}}
{{- end -}}
items:
{{- range $items }}
  {{- $item := . }}
  - name: {{ include "muster.fullname" $root }}{{ .suffix }}
    component: {{ .component }}
    roles: {{ toJson .roles }}
    {{- range fromYamlArray (include "muster.ownKeys" $root) }}
    {{- $value := index $root.Values . }}
    {{- if hasKey $item.own . }}{{ $value = index $item.own . }}{{ end }}
    {{- /* These are filled from the top; not by merge, which takes a false for nothing. */}}
    {{- if has . (list "autoscaling" "podDisruptionBudget") }}
    {{- $value = deepCopy $value }}
    {{- range $key, $of := index $root.Values . }}
    {{- if not (hasKey $value $key) }}{{ $_ := set $value $key $of }}{{ end }}
    {{- end }}
    {{- end }}
    {{ . }}: {{ toJson $value }}
    {{- end }}
{{- end }}
{{- end }}

{{/* dict root, component: how many, where no autoscaler decides. */}}
{{- define "muster.replicas" -}}
{{- if kindIs "invalid" .component.replicas -}}
{{- ternary 1 2 (eq .root.Values.store.type "sqlite") -}}
{{- else -}}
{{- int .component.replicas -}}
{{- end -}}
{{- end }}
