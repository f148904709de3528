{{- define "muster.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "muster.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end }}

{{/* Forty characters leave room for what is put behind it. A release may have a dot in its name, and a Service may not. */}}
{{- define "muster.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | replace "." "-" | trunc 40 | trimAll "-" -}}
{{- end }}

{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: {{ include "muster.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* A version as the value of a label, which has neither a digest nor a build behind a plus sign. */}}
{{- define "muster.labelOfVersion" -}}
{{- . | splitList "@" | first | replace "+" "_" | trunc 63 | trimAll "-_." | quote -}}
{{- end }}

{{/*
The chart's version stays out of the labels of pods: an upgrade that changes nothing else replaces none. Selectors go by
the name and the instance, so that no label of the user takes their place.
*/}}
{{- define "muster.labels" -}}
{{- $own := fromYaml (include "muster.ownLabels" .) -}}
{{- toYaml (merge (fromYaml (include "muster.selectorLabels" .)) .Values.commonLabels $own) -}}
{{- end }}

{{- define "muster.ownLabels" -}}
helm.sh/chart: {{ include "muster.labelOfVersion" (printf "%s-%s" .Chart.Name .Chart.Version) }}
app.kubernetes.io/version: {{ include "muster.labelOfVersion" (default .Chart.AppVersion .Values.image.tag) }}
app.kubernetes.io/part-of: muster
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* metadata of an object: dict root, name (without the namespace where cluster), labels and annotations of its own. */}}
{{- define "muster.metadata" -}}
name: {{ .name | quote }}
{{- if not .cluster }}
namespace: {{ .namespace | default (include "muster.namespace" .root) | quote }}
{{- end }}
labels:
  {{- $own := .labels | default dict }}
  {{- toYaml (merge (deepCopy $own) (fromYaml (include "muster.labels" .root))) | nindent 2 }}
{{- with merge (deepCopy (.annotations | default dict)) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "muster.image" -}}
{{- $registry := default .Values.image.registry (.Values.global).imageRegistry -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- .Values.image.repository -}}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end -}}
{{- end }}

{{/* Names alone, or `{name}` as in a pod; those of `global` too. */}}
{{- define "muster.imagePullSecrets" -}}
{{- $names := list -}}
{{- range concat ((.Values.global).imagePullSecrets | default list) (.Values.imagePullSecrets | default list) -}}
{{- $names = append $names (ternary (get (ternary . dict (kindIs "map" .)) "name") . (kindIs "map" .)) -}}
{{- end -}}
{{- with uniq $names }}
imagePullSecrets:
  {{- range . }}
  - name: {{ quote . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "muster.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "muster.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "muster.secretName" -}}
{{- default (printf "%s-secrets" (include "muster.fullname" .)) .Values.secrets.existingSecret -}}
{{- end }}

{{/* The Secret with the certificate of a listener: dict root, name. Empty: it speaks HTTP. */}}
{{- define "muster.tlsSecret" -}}
{{- $tls := .root.Values.tls -}}
{{- if (index $tls .name).existingSecret -}}
{{- (index $tls .name).existingSecret -}}
{{- else if and $tls.certManager.enabled (has .name $tls.certManager.listeners) -}}
{{- printf "%s-%s-tls" (include "muster.fullname" .root) .name -}}
{{- end -}}
{{- end }}

{{/* The listeners, as a YAML list. */}}
{{- define "muster.listeners" -}}
{{- toYaml (concat (list "api" "device" "ops") (ternary (list "panel") list .Values.panel.enabled)) -}}
{{- end }}

{{/* The listeners of a pod: dict root, roles. The panel is served where the API is. */}}
{{- define "muster.listenersOf" -}}
{{- $names := list -}}
{{- range $name := fromYamlArray (include "muster.listeners" .root) -}}
{{- if has (ternary "api" $name (eq $name "panel")) (append $.roles "ops") }}{{ $names = append $names $name }}{{ end -}}
{{- end -}}
{{- toYaml $names -}}
{{- end }}

{{/* The name for which the certificate of the ops listener is. */}}
{{- define "muster.opsServerName" -}}
{{- default (printf "%s-ops.%s.svc" (include "muster.fullname" .) (include "muster.namespace" .)) .Values.tls.ops.serverName -}}
{{- end }}

{{/* Where pods of the cluster find the device listener. */}}
{{- define "muster.deviceUrl" -}}
{{- $scheme := ternary "https" "http" (not (empty (include "muster.tlsSecret" (dict "root" . "name" "device")))) -}}
{{- printf "%s://%s-device.%s.svc:%d" $scheme (include "muster.fullname" .) (include "muster.namespace" .) (int .Values.service.device.port) -}}
{{- end }}

{{- define "muster.operatorNamespaces" -}}
{{- $own := ternary (list (include "muster.namespace" .)) list .Values.operator.watchReleaseNamespace -}}
{{- toYaml (concat .Values.operator.namespaces $own | uniq) -}}
{{- end }}

{{/* In the form of the API server: `a=b,c in (d,e),!f`. */}}
{{- define "muster.namespaceSelector" -}}
{{- $selector := default dict .Values.operator.namespaceSelector -}}
{{- if kindIs "string" $selector -}}
{{- $selector -}}
{{- else -}}
{{- $parts := list -}}
{{- range $key, $value := $selector.matchLabels }}{{ $parts = append $parts (printf "%s=%s" $key $value) }}{{ end -}}
{{- range $selector.matchExpressions -}}
{{- if eq .operator "Exists" }}{{ $parts = append $parts .key -}}
{{- else if eq .operator "DoesNotExist" }}{{ $parts = append $parts (printf "!%s" .key) -}}
{{- else }}{{ $parts = append $parts (printf "%s %s (%s)" .key (lower .operator) (join "," .values)) }}{{ end -}}
{{- end -}}
{{- join "," $parts -}}
{{- end -}}
{{- end }}

{{/* Of what has no namespace. A colon is in no name of a namespace or a release: two of them never make the same. */}}
{{- define "muster.clusterName" -}}
{{- printf "%s:%s" (include "muster.namespace" .) (include "muster.fullname" .) -}}
{{- end }}

{{/* What the operator may do with the kinds, a list of plurals. */}}
{{- define "muster.operatorRules" -}}
# patch is for the finalizer; what is desired is never written.
- apiGroups: [muster.dev]
  resources:
    {{- toYaml . | nindent 4 }}
  verbs: [get, list, watch, patch]
- apiGroups: [muster.dev]
  resources:
    {{- range . }}
    - {{ . }}/status
    {{- end }}
  verbs: [patch]
# The Lease of each followed namespace: one watch finds them all, and one that is let go is released.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [muster-operator]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}

{{/* The operator's rights in a followed namespace alone, or by `operator.clusterSecrets` in all of them. */}}
{{- define "muster.secretRules" -}}
# Followed by label: those that Muster made, and those with collectors' headers.
- apiGroups: ['']
  resources: [secrets]
  verbs: [get, list, watch, create, patch, delete]
# The Lease that keeps another release from acting there. RBAC cannot bind a create to a name.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
{{- end }}

{{/* The port of the proxy through which the outside is called, or of the provider at which people sign in. */}}
{{- define "muster.issuerPort" -}}
{{- $url := urlParse (default .Values.panel.oidc.issuer .Values.config.egressProxy) -}}
{{- $port := regexFind ":[0-9]+$" $url.host -}}
{{- default (ternary "443" "80" (eq $url.scheme "https")) (trimPrefix ":" $port) -}}
{{- end }}
