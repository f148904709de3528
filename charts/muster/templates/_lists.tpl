{{/*
A list of Kubernetes whose entries are told apart by a key, as YAML. dict own, the entries of the chart; extra, those of
the user; from, the name of their value; key, `name` by default; kept, what may not be named, each with what to do.
The user's entry replaces the chart's: server-side apply refuses a list in which a key stands twice. The user's come last,
in their order, since the value of a variable can name earlier ones alone.
*/}}
{{- define "muster.overlaid" -}}
{{- $key := default "name" .key -}}
{{- $theirs := dict -}}
{{- range .extra -}}
{{- $name := get . $key | toString | clean -}}
{{- if hasKey $theirs $name }}{{ fail (printf "%s: %s stands in it twice" $.from $name) }}{{ end -}}
{{- with get (default dict $.kept) $name }}{{ fail (printf "%s: %s is the chart's own; %s" $.from $name .) }}{{ end -}}
{{- $_ := set $theirs $name . -}}
{{- end -}}
{{- $list := list -}}
{{- range .own -}}
{{- if not (hasKey $theirs (get . $key | toString | clean)) }}{{ $list = append $list . }}{{ end -}}
{{- end -}}
{{- toYaml (concat $list (default list .extra)) -}}
{{- end }}

{{/* Variables that another object of the chart goes by, such as a port, a Role or a Job, each with what to do. */}}
{{- define "muster.keptEnv" -}}
MUSTER_ROLES: set split.enabled or operator.enabled
MUSTER_API_LISTEN: set config.listenHost
MUSTER_DEVICE_LISTEN: set config.listenHost
MUSTER_OPS_LISTEN: set config.listenHost
MUSTER_PANEL_LISTEN: set panel.enabled or config.listenHost
MUSTER_STORE: set store
MUSTER_DATA_DIR: set store.sqlite.persistence
MUSTER_ETCD_PREFIX: set store.etcd.prefix
MUSTER_KUBERNETES_NAMESPACES: set operator.namespaces
MUSTER_KUBERNETES_NAMESPACE_SELECTOR: set operator.namespaceSelector
MUSTER_KUBERNETES_SCOPE: set operator.clusterRole
MUSTER_KUBERNETES_RELEASE: set fullnameOverride or namespaceOverride
MUSTER_KUBERNETES_SERVICE_ACCOUNT: set serviceAccount.name
MUSTER_DRAIN_DELAY_SECONDS: set config.drainDelaySeconds
{{- end }}

{{/* The mounts, or the volumes, of a pod with those of the user: dict root, own. */}}
{{- define "muster.allMounts" -}}
{{- include "muster.overlaid" (dict "own" .own "extra" .root.Values.extraVolumeMounts "from" "extraVolumeMounts" "key" "mountPath") -}}
{{- end }}

{{- define "muster.allVolumes" -}}
{{- include "muster.overlaid" (dict "own" .own "extra" .root.Values.extraVolumes "from" "extraVolumes") -}}
{{- end }}

{{/* Names that no further container may have, with what to do: a list of those that are taken. */}}
{{- define "muster.keptContainers" -}}
{{- $kept := dict -}}
{{- range . }}{{ $_ := set $kept . "give yours another name" }}{{ end -}}
{{- toYaml $kept -}}
{{- end }}
