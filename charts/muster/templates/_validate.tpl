{{/*
Each template begins with this: what it reads is there. A section without values, or a key that cannot be left out, is one
that the values of an older chart do not have, or one that is null; what is empty by default is empty then, too.
*/}}
{{- define "muster.complete" -}}
{{- $missing := list -}}
{{- $empty := fromYaml (include "muster.empty" .) -}}
{{- range $section, $keys := fromYaml (include "muster.keys" .) -}}
{{- $above := dict -}}
{{- $here := $.Values -}}
{{- range compact (splitList "." $section) -}}
{{- $above = $here -}}
{{- $here = ternary (get (ternary $here dict (kindIs "map" $here)) .) nil (kindIs "map" $here) -}}
{{- end -}}
{{- if kindIs "map" $here -}}
{{- range $keys -}}
{{- if kindIs "invalid" (index $here .) }}{{ $missing = append $missing (trimPrefix "." (printf "%s.%s" $section .)) }}{{ end -}}
{{- end -}}
{{- range $key, $value := index $empty $section -}}
{{- if kindIs "invalid" (index $here $key) }}{{ $_ := set $here $key $value }}{{ end -}}
{{- end -}}
{{- else if kindIs "map" $above }}{{ $missing = append $missing $section }}{{ end -}}
{{- end -}}
{{- with $missing -}}
{{- fail (printf "%s: no value. `helm upgrade --reuse-values` gives none to what the chart has added since: take --reset-then-reuse-values. A value of null is none: leave it out to have the default" (join ", " .)) -}}
{{- end -}}
{{- end }}

{{/* What the schema cannot say. Each refusal tells what to do. */}}
{{- define "muster.validate" -}}
{{- $name := include "muster.fullname" . -}}
{{- if and (regexMatch "^[0-9]" $name) (semverCompare "<1.36-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "fullnameOverride: %s begins with a digit, which the name of a Service may not before Kubernetes 1.36; set another name" $name) -}}
{{- end -}}
{{- $sqlite := eq .Values.store.type "sqlite" -}}
{{- if and (not $sqlite) (empty .Values.store.etcd.endpoints) -}}
{{- fail "store.etcd.endpoints: name the members of etcd, as in https://etcd-0.etcd:2379" -}}
{{- end -}}
{{- if and $sqlite .Values.store.etcd.endpoints -}}
{{- fail "store.type: is sqlite, and store.etcd.endpoints names an etcd; set store.type=etcd, or leave the endpoints out. An upgrade names every file of values of the installation" -}}
{{- end -}}
{{- if $sqlite -}}
{{- range list $name (printf "%s-api" $name) -}}
{{- $deployment := . -}}
{{- range dig "spec" "template" "spec" "containers" list (lookup "apps/v1" "Deployment" (include "muster.namespace" $) .) -}}
{{- range .env -}}
{{- if and (eq .name "MUSTER_STORE") (hasPrefix "etcd:" (toString .value)) -}}
{{- fail (printf "store.type: is sqlite, and the Deployment %s is on etcd: its pods would begin with an empty file. An upgrade names every file of values of the installation, or takes --reset-then-reuse-values. To begin anew on the embedded store, delete the Deployment before" $deployment) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $sqlite .Values.split.enabled -}}
{{- fail "split.enabled: the embedded store has one process; set store.type=etcd to split it" -}}
{{- end -}}
{{- if and $sqlite .Values.autoscaling.enabled -}}
{{- fail "autoscaling.enabled: the embedded store has one replica; set store.type=etcd to have more" -}}
{{- end -}}
{{- if and $sqlite (not (kindIs "invalid" .Values.replicas)) (gt (int .Values.replicas) 1) -}}
{{- fail "replicas: the embedded store has one replica; set store.type=etcd to have more" -}}
{{- end -}}
{{- range fromYamlArray (include "muster.schemes" .) -}}
{{- if and (eq . "http") (or $.Values.store.etcd.tls.existingSecret) -}}
{{- fail "store.etcd.tls.existingSecret: certificates need https:// URLs in store.etcd.endpoints" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.operator.enabled (has (include "muster.namespace" .) .Values.operator.namespaces) (not .Values.operator.watchReleaseNamespace) -}}
{{- fail (printf "operator.namespaces: %s is the release's own, where the operator could read the Secret with its token and keys; leave it out, or set operator.watchReleaseNamespace=true" (include "muster.namespace" .)) -}}
{{- end -}}
{{- if and .Values.operator.enabled .Values.operator.namespaceSelector (not .Values.operator.clusterRole) -}}
{{- fail "operator.namespaceSelector: following namespaces by label needs operator.clusterRole=true; name them in operator.namespaces" -}}
{{- end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add 30 (int .Values.config.drainDelaySeconds) | int) -}}
{{- fail "terminationGracePeriodSeconds: must be 30 s longer than config.drainDelaySeconds, or requests under way are cut off" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (empty .Values.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.issuerRef.name: name the Issuer or ClusterIssuer" -}}
{{- end -}}
{{- if and (eq .Values.config.metricsAuth "token") (or .Values.metrics.podMonitor.enabled .Values.metrics.serviceMonitor.enabled) (empty .Values.metrics.token.existingSecret) -}}
{{- fail "metrics.token.existingSecret: with config.metricsAuth=token the monitors need a Secret with an operator token of the role metrics" -}}
{{- end -}}
{{- if and .Values.metrics.podMonitor.enabled .Values.metrics.serviceMonitor.enabled -}}
{{- fail "metrics.podMonitor.enabled, metrics.serviceMonitor.enabled: set one of them, or every series comes twice" -}}
{{- end -}}
{{- if and .Values.operator.clusterSecrets (not .Values.operator.clusterRole) -}}
{{- fail "operator.clusterSecrets: Secrets of all namespaces need a ClusterRole; set operator.clusterRole=true" -}}
{{- end -}}
{{- range $name := list "podMonitor" "serviceMonitor" -}}
{{- $monitor := index $.Values.metrics $name -}}
{{- if gt (int (include "muster.milliseconds" $monitor.scrapeTimeout)) (int (include "muster.milliseconds" $monitor.interval)) -}}
{{- fail (printf "metrics.%s.scrapeTimeout: %s is longer than the interval of %s, which Prometheus refuses" $name $monitor.scrapeTimeout $monitor.interval) -}}
{{- end -}}
{{- end -}}
{{- include "muster.validateRules" . -}}
{{- with .Values.panel -}}
{{- if .enabled -}}
{{- if empty .url -}}
{{- fail "panel.url: name the address of the panel as browsers know it, such as https://muster.example.com" -}}
{{- end -}}
{{- if and (empty (include "muster.tlsSecret" (dict "root" $ "name" "panel"))) (empty $.Values.config.trustedProxies) -}}
{{- fail "panel.enabled: sign-ins need TLS; set tls.panel.existingSecret, or config.trustedProxies where a proxy speaks TLS before the pods" -}}
{{- end -}}
{{- if and .oidc.issuer (or (empty .oidc.clientId) (empty .oidc.existingSecret)) -}}
{{- fail "panel.oidc: clientId and existingSecret, the Secret with the client's secret, belong to the issuer" -}}
{{- end -}}
{{- if and (eq .passwords "off") (empty .oidc.issuer) -}}
{{- fail "panel.passwords: without passwords nobody signs in; set panel.oidc.issuer" -}}
{{- end -}}
{{- else if or $.Values.ingress.panel.enabled $.Values.gateway.panel.enabled -}}
{{- fail "panel.enabled: set it to true, or leave ingress.panel and gateway.panel out" -}}
{{- end -}}
{{- end -}}
{{- with .Values.opamp -}}
{{- if hasPrefix "/device/" .path -}}
{{- fail "opamp.path: the paths below /device are those of the device plane; take another, such as /v1/opamp" -}}
{{- end -}}
{{- if and (eq .bootstrap "on") (empty .url) -}}
{{- fail "opamp.url: agents that come with a code need an address to be offered, as in https://devices.example.com/v1/opamp" -}}
{{- end -}}
{{- range $placeholder := list "$(MUSTER_ENDPOINT)" "$(MUSTER_HEADERS)" -}}
{{- if and (trim $.Values.opamp.template) (not (contains $placeholder $.Values.opamp.template)) -}}
{{- fail (printf "opamp.template: it has no %s, so that collectors would export nothing to the account's own" $placeholder) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name := list "api" "device" "panel" -}}
{{- $route := index $.Values.gateway $name -}}
{{- if and $route.enabled (empty $route.parentRefs) -}}
{{- fail (printf "gateway.%s.parentRefs: name the Gateway" $name) -}}
{{- end -}}
{{- if and $route.enabled (eq $route.kind "TLSRoute") (empty (include "muster.tlsSecret" (dict "root" $ "name" $name))) -}}
{{- fail (printf "gateway.%s.kind: a TLSRoute needs TLS in the pod; set tls.%s.existingSecret" $name $name) -}}
{{- end -}}
{{- if and $route.enabled (eq $route.kind "TLSRoute") (empty $route.hostnames) -}}
{{- fail (printf "gateway.%s.hostnames: a TLSRoute goes by the host name; name one" $name) -}}
{{- end -}}
{{- if and (index $.Values.ingress $name).enabled (empty (index $.Values.ingress $name).hosts) -}}
{{- fail (printf "ingress.%s.hosts: name a host" $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* A duration such as 1m30s. */}}
{{- define "muster.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|s|m|h)" . -1 -}}
{{- $sum = add $sum (mul (regexFind "^[0-9]+" . | int) (get $units (regexFind "[a-z]+$" .))) -}}
{{- end -}}
{{- $sum -}}
{{- end }}

{{- define "muster.schemes" -}}
{{- $schemes := list -}}
{{- range .Values.store.etcd.endpoints }}{{ $schemes = append $schemes (urlParse (lower (trim .))).scheme }}{{ end -}}
{{- if gt (len (uniq $schemes)) 1 }}{{ fail "store.etcd.endpoints: all http:// or all https://" }}{{ end -}}
{{- toYaml (uniq $schemes) -}}
{{- end }}
