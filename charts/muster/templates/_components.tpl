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
    extraEnvFrom: {{ ternary (printf "split.%s.extraEnv" .component) "extraEnv" (hasKey .own "extraEnv") }}
    {{- range fromYamlArray (include "muster.ownKeys" $root) }}
    {{- $value := index $root.Values . }}
    {{- if hasKey $item.own . }}{{ $value = index $item.own . }}{{ end }}
    {{- /* These are filled from the top; not by merge, which takes a false for nothing. */}}
    {{- if has . (list "autoscaling" "podDisruptionBudget") }}
    {{- $value = deepCopy $value }}
    {{- $bounded := or (hasKey $value "minAvailable") (hasKey $value "maxUnavailable") }}
    {{- range $key, $of := index $root.Values . }}
    {{- if not (or (hasKey $value $key) (and $bounded (has $key (list "minAvailable" "maxUnavailable")))) }}{{ $_ := set $value $key $of }}{{ end }}
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

{{/*
dict root, component: how many, where an autoscaler decides: as many as there are, and `minReplicas` where that is not
known. Without a number, the upgrade that turns the autoscaler on would take the former one out, which is 1 to Kubernetes.
Empty where server-side apply finds the number in other hands: it stays, and a rollback meets no conflict.
*/}}
{{- define "muster.liveReplicas" -}}
{{- $live := lookup "apps/v1" "Deployment" (include "muster.namespace" .root) .component.name -}}
{{- $taken := false -}}
{{- range dig "metadata" "managedFields" list $live -}}
{{- $fields := dig "fieldsV1" "f:spec" dict . -}}
{{- /* The selector is the chart's alone: who applies it applies the release. */}}
{{- if and (eq .operation "Apply") (hasKey $fields "f:selector") }}{{ $taken = not (hasKey $fields "f:replicas") }}{{ end -}}
{{- end -}}
{{- if not $taken }}{{ int (dig "spec" "replicas" .component.autoscaling.minReplicas $live) }}{{ end -}}
{{- end }}

{{/* The newest version of a route that the cluster serves: dict root, kind. Where that is not known, a widespread one. */}}
{{- define "muster.routeVersion" -}}
{{- $root := .root -}}
{{- $kind := .kind -}}
{{- $served := list -}}
{{- range list "v1" "v1beta1" "v1alpha3" "v1alpha2" -}}
{{- $version := printf "gateway.networking.k8s.io/%s" . -}}
{{- if $root.Capabilities.APIVersions.Has (printf "%s/%s" $version $kind) }}{{ $served = append $served $version }}{{ end -}}
{{- end -}}
{{- default (printf "gateway.networking.k8s.io/%s" (ternary "v1" "v1alpha3" (eq $kind "HTTPRoute"))) (first $served) -}}
{{- end }}
