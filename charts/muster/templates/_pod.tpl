{{/* On OpenShift the platform gives each namespace a group, and refuses others. */}}
{{- define "muster.podSecurityContext" -}}
{{- $context := deepCopy .Values.podSecurityContext -}}
{{- if and (not (kindIs "invalid" .Values.fsGroup)) (not (.Capabilities.APIVersions.Has "security.openshift.io/v1")) -}}
{{- $context = merge $context (dict "fsGroup" (int .Values.fsGroup) "fsGroupChangePolicy" "OnRootMismatch") -}}
{{- end -}}
{{- toYaml $context -}}
{{- end }}

{{/* What every pod of the chart has: scheduling, DNS, pull secrets. */}}
{{- define "muster.podCommon" -}}
{{- with include "muster.imagePullSecrets" . | trim }}
{{ . }}
{{- end }}
securityContext:
  {{- include "muster.podSecurityContext" . | nindent 2 }}
{{- if not (kindIs "invalid" .Values.hostUsers) }}
hostUsers: {{ .Values.hostUsers }}
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- include "muster.overlaid" (dict "extra" . "from" "hostAliases" "key" "ip") | nindent 2 }}
{{- end }}
enableServiceLinks: {{ .Values.enableServiceLinks }}
{{- end }}

{{/* A probe of the ops listener: dict root, own, path. A kubelet verifies no certificate. */}}
{{- define "muster.probe" -}}
{{- $get := dict "path" .path "port" "ops" -}}
{{- if include "muster.tlsSecret" (dict "root" .root "name" "ops") }}{{ $_ := set $get "scheme" "HTTPS" }}{{ end -}}
{{- toYaml (merge (deepCopy .own) (dict "httpGet" $get)) -}}
{{- end }}

{{- define "muster.container" -}}
{{- $root := .root -}}
{{- $pod := dict "root" $root "roles" .component.roles "data" true -}}
- name: muster
  image: {{ include "muster.image" $root | quote }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: [serve]
  terminationMessagePolicy: FallbackToLogsOnError
  {{- with $root.Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    {{- $own := concat (fromYamlArray (include "muster.env" $pod)) (fromYamlArray (include "muster.clientEnv" $pod)) }}
    {{- $kept := fromYaml (include "muster.keptEnv" .) }}
    {{- include "muster.overlaid" (dict "own" $own "extra" .component.extraEnv "from" .component.extraEnvFrom "kept" $kept) | nindent 4 }}
  {{- with $root.Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    {{- if has "api" .component.roles }}
    - name: api
      containerPort: 8080
    {{- end }}
    {{- if has "device" .component.roles }}
    - name: device
      containerPort: 8081
    {{- end }}
    - name: ops
      containerPort: 8082
    {{- if and $root.Values.panel.enabled (has "api" .component.roles) }}
    - name: panel
      containerPort: 8083
    {{- end }}
  startupProbe:
    {{- include "muster.probe" (dict "root" $root "own" $root.Values.startupProbe "path" "/livez") | nindent 4 }}
  livenessProbe:
    {{- include "muster.probe" (dict "root" $root "own" $root.Values.livenessProbe "path" "/livez") | nindent 4 }}
  readinessProbe:
    {{- include "muster.probe" (dict "root" $root "own" $root.Values.readinessProbe "path" "/readyz") | nindent 4 }}
  {{- with $root.Values.lifecycle }}
  lifecycle:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .component.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "muster.allMounts" (dict "root" $root "own" (fromYamlArray (include "muster.mounts" $pod))) | nindent 4 }}
{{- end }}

{{/* Over nodes and zones; each rollout is spread for itself. A zone that is away never keeps a pod from running. */}}
{{- define "muster.spread" -}}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
{{- $must := and (eq $key "kubernetes.io/hostname") (eq $.root.Values.spread.whenUnsatisfiable "DoNotSchedule") }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: {{ ternary "DoNotSchedule" "ScheduleAnyway" $must }}
  {{- if $must }}
  # A node that is drained or lost is none that has to be filled first.
  nodeTaintsPolicy: Honor
  {{- end }}
  matchLabelKeys: [pod-template-hash]
  labelSelector:
    matchLabels:
      {{- include "muster.selectorLabels" $.root | nindent 6 }}
      app.kubernetes.io/component: {{ $.component.component }}
{{- end }}
{{- end }}

{{/* A pod of a Job: dict root, component, args, serviceAccount; lists, where it has any: env, mounts, volumes. */}}
{{- define "muster.jobPod" -}}
metadata:
  labels:
    {{- $labels := merge (dict "app.kubernetes.io/component" .component) .root.Values.jobs.podLabels (fromYaml (include "muster.selectorLabels" .root)) .root.Values.commonLabels }}
    {{- toYaml $labels | nindent 4 }}
  {{- with merge (deepCopy .root.Values.jobs.podAnnotations) .root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ .serviceAccount | quote }}
  automountServiceAccountToken: true
  restartPolicy: OnFailure
  {{- include "muster.podCommon" .root | trim | nindent 2 }}
  {{- with .root.Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "muster.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      terminationMessagePolicy: FallbackToLogsOnError
      {{- with .env }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .mounts }}
      volumeMounts:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.jobs.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- with .volumes }}
  volumes:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
