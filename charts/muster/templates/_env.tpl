{{/* The environment of the product: dict root, roles. */}}
{{- define "muster.env" -}}
{{- $root := .root -}}
{{- with $root.Values -}}
- name: MUSTER_ROLES
  value: {{ join "," $.roles | quote }}
- name: MUSTER_API_LISTEN
  value: {{ printf "%s:8080" .config.listenHost | quote }}
- name: MUSTER_DEVICE_LISTEN
  value: {{ printf "%s:8081" .config.listenHost | quote }}
- name: MUSTER_OPS_LISTEN
  value: {{ printf "%s:8082" .config.listenHost | quote }}
{{ include "muster.panelEnv" (dict "root" $root "roles" $.roles) }}
- name: MUSTER_OPERATOR_TOKEN_FILE
  value: /etc/muster/secrets/operator-token
- name: MUSTER_KEY_FILE
  value: /etc/muster/secrets/keys
{{- if eq .store.type "etcd" }}
- name: MUSTER_STORE_ID
  valueFrom:
    secretKeyRef:
      name: {{ include "muster.secretName" $root | quote }}
      key: {{ .secrets.storeIdKey | quote }}
      # A Secret that an earlier version of the chart made has none.
      optional: true
{{- end }}
{{ include "muster.storeEnv" $root }}
{{- range $name := fromYamlArray (include "muster.listenersOf" (dict "root" $root "roles" $.roles)) }}
{{- if include "muster.tlsSecret" (dict "root" $root "name" $name) }}
- name: MUSTER_{{ upper $name }}_TLS_CERT_FILE
  value: /etc/muster/tls-{{ $name }}/tls.crt
- name: MUSTER_{{ upper $name }}_TLS_KEY_FILE
  value: /etc/muster/tls-{{ $name }}/tls.key
{{- end }}
{{- end }}
{{- if has "kubernetes" $.roles }}
{{- with join "," (fromYamlArray (include "muster.operatorNamespaces" $root)) }}
- name: MUSTER_KUBERNETES_NAMESPACES
  value: {{ . | quote }}
{{- end }}
{{- with include "muster.namespaceSelector" $root }}
- name: MUSTER_KUBERNETES_NAMESPACE_SELECTOR
  value: {{ . | quote }}
{{- end }}
- name: MUSTER_KUBERNETES_SCOPE
  value: {{ ternary "cluster" "namespaces" .operator.clusterRole }}
- name: MUSTER_KUBERNETES_RELEASE
  value: {{ printf "%s/%s" (include "muster.namespace" $root) (include "muster.fullname" $root) | quote }}
- name: MUSTER_KUBERNETES_SERVICE_ACCOUNT
  value: {{ printf "%s/%s" (include "muster.namespace" $root) (include "muster.serviceAccountName" $root) | quote }}
- name: MUSTER_KUBERNETES_DEVICE_URL
  value: {{ default (include "muster.deviceUrl" $root) .operator.deviceUrl | quote }}
{{- with .operator.secretTemplate }}
{{- if or .labels .annotations }}
- name: MUSTER_KUBERNETES_SECRET_TEMPLATE
  # Kubernetes reads $$ as $, and would write the value of a variable for its name in $().
  value: {{ toRawJson . | replace "$" "$$" | quote }}
{{- end }}
{{- end }}
{{- end }}
{{ include "muster.opampEnv" (dict "root" $root "roles" $.roles) }}
{{ include "muster.configEnv" $root }}
{{- end }}
{{- end }}

{{/* What `kubectl exec … muster …` asks: the service of its own pod: dict root, roles. */}}
{{- define "muster.clientEnv" -}}
{{- $root := .root -}}
{{- $host := get (dict "0.0.0.0" "127.0.0.1" "[::]" "[::1]") $root.Values.config.listenHost | default $root.Values.config.listenHost -}}
{{- $variables := dict "api" (list "URL" 8080) "device" (list "DEVICE_URL" 8081) "ops" (list "OPS_URL" 8082) -}}
{{- $certificates := list -}}
{{- range $name := fromYamlArray (include "muster.listenersOf" .) }}
{{- with get $variables $name }}
{{- if include "muster.tlsSecret" (dict "root" $root "name" $name) }}
{{- $certificates = append $certificates (printf "/etc/muster/tls-%s/tls.crt" $name) }}
{{- end }}
- name: MUSTER_CLIENT_{{ first . }}
  value: {{ printf "%s://%s:%d" (ternary "https" "http" (not (empty (include "muster.tlsSecret" (dict "root" $root "name" $name))))) $host (int (last .)) | quote }}
{{- end }}
{{- end }}
- name: MUSTER_CLIENT_OPERATOR_TOKEN_FILE
  value: /etc/muster/secrets/operator-token
{{- with $certificates }}
- name: MUSTER_CLIENT_CA_FILE
  value: {{ join ":" . | quote }}
{{- end }}
{{- end }}

{{/* The environment of the OpAMP endpoint: dict root, roles. The operator writes its path into Secrets. */}}
{{- define "muster.opampEnv" -}}
{{- with .root.Values.opamp -}}
- name: MUSTER_OPAMP_PATH
  value: {{ .path | quote }}
{{- if has "device" $.roles }}
- name: MUSTER_OPAMP_BOOTSTRAP
  value: {{ .bootstrap | quote }}
{{- if .url }}
- name: MUSTER_OPAMP_URL
  value: {{ .url | quote }}
{{- end }}
{{- if trim .template }}
- name: MUSTER_OPAMP_TEMPLATE_FILE
  value: /etc/muster/opamp/template.yaml
{{- else }}
- name: MUSTER_OPAMP_EXPORTER
  value: {{ .exporter | quote }}
{{- end }}
{{- if trim .ca }}
- name: MUSTER_OPAMP_CA_FILE
  value: /etc/muster/opamp/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty where a pod reads files of the OpAMP endpoint: dict root, roles. */}}
{{- define "muster.opampFilesOf" -}}
{{- with .root.Values.opamp -}}
{{- if and (has "device" $.roles) (or (trim .template) (trim .ca)) }}yes{{ end -}}
{{- end -}}
{{- end }}

{{/* Not empty where a pod signs people in at a provider: dict root, roles. */}}
{{- define "muster.oidcOf" -}}
{{- if and .root.Values.panel.enabled .root.Values.panel.oidc.issuer (has "api" .roles) }}yes{{ end -}}
{{- end }}

{{/* The environment of the panel: dict root, roles. Where it is not served it is off, and not on its default. */}}
{{- define "muster.panelEnv" -}}
{{- $values := .root.Values -}}
{{- if and $values.panel.enabled (has "api" .roles) -}}
- name: MUSTER_PANEL_LISTEN
  value: {{ printf "%s:8083" $values.config.listenHost | quote }}
- name: MUSTER_PANEL_URL
  value: {{ $values.panel.url | quote }}
{{- with $values.panel.publicApiUrl }}
- name: MUSTER_PUBLIC_API_URL
  value: {{ . | quote }}
{{- end }}
{{- with $values.panel.publicDeviceUrl }}
- name: MUSTER_PUBLIC_DEVICE_URL
  value: {{ . | quote }}
{{- end }}
- name: MUSTER_PANEL_PASSWORDS
  value: {{ $values.panel.passwords | quote }}
- name: MUSTER_PANEL_SECOND_FACTOR
  value: {{ $values.panel.secondFactor | quote }}
- name: MUSTER_SESSION_IDLE
  value: {{ $values.panel.sessionIdle | quote }}
- name: MUSTER_SESSION_MAX
  value: {{ $values.panel.sessionMax | quote }}
- name: MUSTER_PANEL_CONCURRENCY
  value: {{ $values.panel.concurrency | int | quote }}
- name: MUSTER_PANEL_CONNECTIONS_PER_ADDRESS
  value: {{ $values.panel.connectionsPerAddress | int | quote }}
{{- with $values.panel.idleSeconds }}
- name: MUSTER_PANEL_IDLE_SECONDS
  value: {{ . | int | quote }}
{{- end }}
- name: MUSTER_SIGN_INS_PER_ADDRESS
  value: {{ $values.panel.signInsPerAddress | int | quote }}
{{- if include "muster.oidcOf" . }}
{{- with $values.panel.oidc }}
- name: MUSTER_OIDC_ISSUER
  value: {{ .issuer | quote }}
- name: MUSTER_OIDC_CLIENT_ID
  value: {{ .clientId | quote }}
- name: MUSTER_OIDC_CLIENT_SECRET_FILE
  value: /etc/muster/oidc/client-secret
- name: MUSTER_OIDC_SCOPES
  value: {{ .scopes | quote }}
- name: MUSTER_OIDC_GROUPS_CLAIM
  value: {{ .groupsClaim | quote }}
- name: MUSTER_OIDC_NEWCOMERS
  value: {{ .newcomers | quote }}
- name: MUSTER_OIDC_PROVIDER_NAME
  value: {{ .providerName | quote }}
{{- if .secondFactor }}
- name: MUSTER_OIDC_SECOND_FACTOR
  value: {{ .secondFactor | quote }}
{{- end }}
{{- if .groups }}
- name: MUSTER_OIDC_GROUPS_FILE
  value: /etc/muster/panel/groups
{{- end }}
{{- end }}
{{- end }}
{{- else -}}
- name: MUSTER_PANEL_LISTEN
  value: "off"
{{- end }}
{{- end }}

{{- define "muster.storeEnv" -}}
{{- with .Values.store -}}
{{- if eq .type "sqlite" -}}
- name: MUSTER_STORE
  value: "sqlite:/var/lib/muster/muster.db"
- name: MUSTER_DATA_DIR
  value: /var/lib/muster
{{- else -}}
- name: MUSTER_STORE
  value: {{ printf "etcd:%s" (join "," .etcd.endpoints) | quote }}
- name: MUSTER_ETCD_PREFIX
  value: {{ .etcd.prefix | quote }}
- name: MUSTER_ETCD_COMPACT
  value: {{ .etcd.compact | quote }}
- name: MUSTER_ETCD_QUOTA_BYTES
  value: {{ .etcd.quotaBytes | quote }}
{{- with .etcd.tls }}
{{- if .existingSecret }}
{{- if .caKey }}
- name: MUSTER_ETCD_CA_FILE
  value: /etc/muster/etcd/ca.crt
{{- end }}
{{- if .certKey }}
- name: MUSTER_ETCD_CERT_FILE
  value: /etc/muster/etcd/tls.crt
- name: MUSTER_ETCD_KEY_FILE
  value: /etc/muster/etcd/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- with .etcd.auth }}
{{- if .existingSecret }}
- name: MUSTER_ETCD_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .usernameKey | quote }}
- name: MUSTER_ETCD_PASSWORD_FILE
  value: /etc/muster/etcd-auth/password
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.configEnv" -}}
{{- with .Values.config -}}
- name: MUSTER_POLL_INTERVAL_SECONDS
  value: {{ .pollIntervalSeconds | int | quote }}
- name: MUSTER_DEVICE_RATE_PER_MINUTE
  value: {{ .deviceRatePerMinute | int | quote }}
- name: MUSTER_API_CONCURRENCY
  value: {{ .apiConcurrency | int | quote }}
- name: MUSTER_DEVICE_CONCURRENCY
  value: {{ .deviceConcurrency | int | quote }}
- name: MUSTER_OPS_CONCURRENCY
  value: {{ .opsConcurrency | int | quote }}
{{- with join "," .trustedProxies }}
- name: MUSTER_TRUSTED_PROXIES
  value: {{ . | quote }}
{{- end }}
- name: MUSTER_API_CONNECTIONS_PER_ADDRESS
  value: {{ .apiConnectionsPerAddress | int | quote }}
- name: MUSTER_DEVICE_CONNECTIONS_PER_ADDRESS
  value: {{ .deviceConnectionsPerAddress | int | quote }}
- name: MUSTER_OPS_CONNECTIONS_PER_ADDRESS
  value: {{ .opsConnectionsPerAddress | int | quote }}
{{- with .apiIdleSeconds }}
- name: MUSTER_API_IDLE_SECONDS
  value: {{ . | int | quote }}
{{- end }}
{{- with .deviceIdleSeconds }}
- name: MUSTER_DEVICE_IDLE_SECONDS
  value: {{ . | int | quote }}
{{- end }}
{{- with .opsIdleSeconds }}
- name: MUSTER_OPS_IDLE_SECONDS
  value: {{ . | int | quote }}
{{- end }}
- name: MUSTER_RATE_WINDOW
  value: {{ .rateWindow | quote }}
- name: MUSTER_METRICS_ACCOUNTS
  value: {{ .metricsAccounts | quote }}
- name: MUSTER_METRICS_AUTH
  value: {{ .metricsAuth | quote }}
- name: MUSTER_METERING_DELAY_SECONDS
  value: {{ .meteringDelaySeconds | int | quote }}
- name: MUSTER_PRICE_PER_DAEMON_MONTH
  value: {{ .pricePerDaemonMonth | quote }}
- name: MUSTER_CURRENCY
  value: {{ .currency | quote }}
- name: MUSTER_ACCOUNT_QUOTA_MB
  value: {{ .accountQuotaMb | int | quote }}
- name: MUSTER_AUDIT_RETENTION_DAYS
  value: {{ .auditRetentionDays | int | quote }}
{{- if .auditLog }}
- name: MUSTER_AUDIT_LOG
  value: {{ .auditLog | quote }}
{{- end }}
{{- if .egressProxy }}
- name: MUSTER_EGRESS_PROXY
  value: {{ .egressProxy | quote }}
{{- end }}
{{- with join "," .egressAllow }}
- name: MUSTER_EGRESS_ALLOW
  value: {{ . | quote }}
{{- end }}
- name: MUSTER_LOG_LEVEL
  value: {{ .logLevel | quote }}
- name: MUSTER_DRAIN_DELAY_SECONDS
  value: {{ .drainDelaySeconds | int | quote }}
{{- end }}
{{- end }}

{{/* The mounts that the environment names: dict root, roles, data (whether the volume of the embedded store is there). */}}
{{- define "muster.mounts" -}}
- name: secrets
  mountPath: /etc/muster/secrets
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- with .root.Values.store }}
{{- if and (eq .type "sqlite") $.data }}
- name: data
  mountPath: /var/lib/muster
{{- end }}
{{- end }}
{{- with include "muster.etcdMounts" .root | trim }}
{{ . }}
{{- end }}
{{- if and (include "muster.oidcOf" .) .root.Values.panel.oidc.existingSecret }}
- name: oidc
  mountPath: /etc/muster/oidc
  readOnly: true
{{- end }}
{{- if and (include "muster.oidcOf" .) .root.Values.panel.oidc.groups }}
- name: panel
  mountPath: /etc/muster/panel
  readOnly: true
{{- end }}
{{- if include "muster.opampFilesOf" . }}
- name: opamp
  mountPath: /etc/muster/opamp
  readOnly: true
{{- end }}
{{- range $name := fromYamlArray (include "muster.listenersOf" .) }}
{{- if include "muster.tlsSecret" (dict "root" $.root "name" $name) }}
- name: tls-{{ $name }}
  mountPath: /etc/muster/tls-{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.etcdMounts" -}}
{{- with .Values.store }}
{{- if and (eq .type "etcd") .etcd.tls.existingSecret }}
- name: etcd-tls
  mountPath: /etc/muster/etcd
  readOnly: true
{{- end }}
{{- if and (eq .type "etcd") .etcd.auth.existingSecret }}
- name: etcd-auth
  mountPath: /etc/muster/etcd-auth
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{/* As "muster.mounts". No subPath anywhere: such a mount never shows a renewed Secret. */}}
{{- define "muster.volumes" -}}
{{- $values := .root.Values -}}
- name: secrets
  secret:
    secretName: {{ include "muster.secretName" .root | quote }}
    # 0440, in the one spelling that all versions of YAML read alike.
    defaultMode: 288
    items:
      - key: {{ $values.secrets.tokenKey | quote }}
        path: operator-token
      - key: {{ $values.secrets.keysKey | quote }}
        path: keys
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with $values.store }}
{{- if and (eq .type "sqlite") $.data }}
- name: data
  {{- if .sqlite.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ default (printf "%s-data" (include "muster.fullname" $.root)) .sqlite.persistence.existingClaim | quote }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- end }}
{{- with include "muster.etcdVolumes" .root | trim }}
{{ . }}
{{- end }}
{{- with $values.panel.oidc }}
{{- if and (include "muster.oidcOf" $) .existingSecret }}
- name: oidc
  secret:
    secretName: {{ .existingSecret | quote }}
    # 0440, in the one spelling that all versions of YAML read alike.
    defaultMode: 288
    items:
      - key: {{ .clientSecretKey | quote }}
        path: client-secret
{{- end }}
{{- if and (include "muster.oidcOf" $) .groups }}
- name: panel
  configMap:
    name: {{ printf "%s-panel" (include "muster.fullname" $.root) | quote }}
{{- end }}
{{- end }}
{{- if include "muster.opampFilesOf" . }}
- name: opamp
  configMap:
    name: {{ printf "%s-opamp" (include "muster.fullname" .root) | quote }}
{{- end }}
{{- range $name := fromYamlArray (include "muster.listenersOf" .) }}
{{- $tls := index $values.tls $name }}
{{- $secret := include "muster.tlsSecret" (dict "root" $.root "name" $name) }}
{{- if $secret }}
- name: tls-{{ $name }}
  secret:
    secretName: {{ $secret | quote }}
    # 0440, in the one spelling that all versions of YAML read alike.
    defaultMode: 288
    items:
      - key: {{ $tls.certKey | quote }}
        path: tls.crt
      - key: {{ $tls.keyKey | quote }}
        path: tls.key
{{- end }}
{{- end }}
{{- end }}

{{- define "muster.etcdVolumes" -}}
{{- with .Values.store }}
{{- if eq .type "etcd" }}
{{- with .etcd.tls }}
{{- if .existingSecret }}
- name: etcd-tls
  secret:
    secretName: {{ .existingSecret | quote }}
    # 0440, in the one spelling that all versions of YAML read alike.
    defaultMode: 288
    items:
      {{- if .caKey }}
      - key: {{ .caKey | quote }}
        path: ca.crt
      {{- end }}
      {{- if .certKey }}
      - key: {{ .certKey | quote }}
        path: tls.crt
      - key: {{ .keyKey | quote }}
        path: tls.key
      {{- end }}
{{- end }}
{{- end }}
{{- with .etcd.auth }}
{{- if .existingSecret }}
- name: etcd-auth
  secret:
    secretName: {{ .existingSecret | quote }}
    # 0440, in the one spelling that all versions of YAML read alike.
    defaultMode: 288
    items:
      - key: {{ .passwordKey | quote }}
        path: password
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
