{{/*
Written by `npm run docs` from values.yaml: its sections, each with the keys that cannot be left out.
*/}}
{{- define "muster.keys" -}}
'': [enabled, revisionHistoryLimit, minReadySeconds, terminationGracePeriodSeconds]
image: [repository, pullPolicy]
store: [type]
store.etcd: [prefix, compact, quotaBytes]
store.etcd.tls: [caKey, certKey, keyKey]
store.etcd.auth: [usernameKey, passwordKey]
store.sqlite: []
store.sqlite.persistence: [enabled, accessModes, size, keep]
secrets: [tokenKey, keysKey, storeIdKey, keep]
config: [pollIntervalSeconds, deviceRatePerMinute, apiConcurrency, deviceConcurrency, opsConcurrency, opsConnectionsPerAddress, rateWindow, metricsAccounts, metricsAuth, meteringDelaySeconds, pricePerDaemonMonth, currency, accountQuotaMb, auditRetentionDays, logLevel, listenHost, drainDelaySeconds]
tls: []
tls.api: [certKey, keyKey]
tls.device: [certKey, keyKey]
tls.ops: [certKey, keyKey, caKey]
tls.panel: [certKey, keyKey]
tls.certManager: [listeners]
tls.certManager.issuerRef: [kind, group]
tls.certManager.dnsNames: []
panel: [passwords, secondFactor, sessionIdle, sessionMax, concurrency, signInsPerAddress]
panel.oidc: [clientSecretKey, scopes, groupsClaim, newcomers, providerName]
opamp: [path, exporter, bootstrap]
operator: [enabled, clusterRole, aggregateRoles]
operator.secretTemplate: []
crds: [install, keep]
teardown: [timeoutSeconds]
split: []
autoscaling: [minReplicas, maxReplicas]
podDisruptionBudget: [enabled]
serviceAccount: [create]
rbac: [create]
service: []
service.api: [type, port]
service.device: [type, port]
service.ops: [type, port]
service.panel: [type, port]
ingress: []
ingress.api: []
ingress.device: []
ingress.panel: []
gateway: []
gateway.api: [kind]
gateway.device: [kind]
gateway.panel: [kind]
networkPolicy: [enabled, egress, dnsPorts, kubernetesPorts]
metrics: []
metrics.token: [key]
metrics.podMonitor: [interval, scrapeTimeout]
metrics.serviceMonitor: [interval, scrapeTimeout]
metrics.prometheusRule: [absent]
metrics.alertmanagerConfig: []
metrics.dashboards: []
spread: [whenUnsatisfiable]
jobs: []
{{- end }}

{{/* The others, each with what it is then: nothing, and so are the maps that Kubernetes reads. */}}
{{- define "muster.empty" -}}
'': {"global":{},"nameOverride":"","fullnameOverride":"","namespaceOverride":"","commonLabels":{},"commonAnnotations":{},"imagePullSecrets":[],"updateStrategy":{},"resources":{},"labels":{},"annotations":{},"podLabels":{},"podAnnotations":{},"nodeSelector":{},"tolerations":[],"affinity":{},"topologySpreadConstraints":[],"priorityClassName":"","schedulerName":"","runtimeClassName":"","dnsPolicy":"","dnsConfig":{},"hostAliases":[],"enableServiceLinks":false,"podSecurityContext":{},"securityContext":{},"startupProbe":{},"livenessProbe":{},"readinessProbe":{},"lifecycle":{},"extraEnv":[],"extraEnvFrom":[],"extraVolumes":[],"extraVolumeMounts":[],"initContainers":[],"extraContainers":[],"extraObjects":[]}
image: {"registry":"","tag":"","digest":""}
store.etcd: {"endpoints":[]}
store.etcd.tls: {"existingSecret":""}
store.etcd.auth: {"existingSecret":""}
store.sqlite.persistence: {"existingClaim":"","storageClassName":"","annotations":{}}
secrets: {"existingSecret":""}
config: {"trustedProxies":[],"apiConnectionsPerAddress":0,"deviceConnectionsPerAddress":0,"auditLog":"","egressProxy":"","egressAllow":[]}
tls.api: {"existingSecret":""}
tls.device: {"existingSecret":""}
tls.ops: {"existingSecret":"","serverName":""}
tls.panel: {"existingSecret":""}
tls.certManager: {"enabled":false}
tls.certManager.issuerRef: {"name":""}
tls.certManager.dnsNames: {"api":[],"device":[],"ops":[],"panel":[]}
panel: {"enabled":false,"url":"","publicApiUrl":"","publicDeviceUrl":"","connectionsPerAddress":0}
panel.oidc: {"issuer":"","clientId":"","existingSecret":"","groups":[],"secondFactor":""}
opamp: {"template":"","url":"","ca":""}
operator: {"namespaces":[],"watchReleaseNamespace":false,"deviceUrl":"","clusterSecrets":false,"aggregateAccounts":false}
operator.secretTemplate: {"labels":{},"annotations":{}}
crds: {"annotations":{}}
split: {"enabled":false,"api":{},"device":{},"controller":{}}
autoscaling: {"enabled":false,"metrics":[],"behavior":{}}
serviceAccount: {"name":"","annotations":{},"labels":{}}
service.api: {"annotations":{},"labels":{},"spec":{}}
service.device: {"annotations":{},"labels":{},"spec":{}}
service.ops: {"annotations":{},"labels":{},"spec":{}}
service.panel: {"annotations":{},"labels":{},"spec":{}}
ingress.api: {"enabled":false,"className":"","annotations":{},"labels":{},"hosts":[],"tls":[]}
ingress.device: {"enabled":false,"className":"","annotations":{},"labels":{},"hosts":[],"tls":[]}
ingress.panel: {"enabled":false,"className":"","annotations":{},"labels":{},"hosts":[],"tls":[]}
gateway.api: {"enabled":false,"apiVersion":"","parentRefs":[],"hostnames":[],"timeouts":{},"filters":[],"annotations":{},"labels":{}}
gateway.device: {"enabled":false,"apiVersion":"","parentRefs":[],"hostnames":[],"timeouts":{},"filters":[],"annotations":{},"labels":{}}
gateway.panel: {"enabled":false,"apiVersion":"","parentRefs":[],"hostnames":[],"timeouts":{},"filters":[],"annotations":{},"labels":{}}
networkPolicy: {"monitoringNamespace":"","apiFrom":[],"deviceFrom":[],"panelFrom":[],"opsFrom":[],"etcdPorts":[],"etcdTo":[],"extraIngress":[],"extraEgress":[]}
metrics: {"insecureSkipVerify":false}
metrics.token: {"existingSecret":""}
metrics.podMonitor: {"enabled":false,"namespace":"","labels":{},"annotations":{},"relabelings":[],"metricRelabelings":[]}
metrics.serviceMonitor: {"enabled":false,"namespace":"","labels":{},"annotations":{},"relabelings":[],"metricRelabelings":[]}
metrics.prometheusRule: {"enabled":false,"namespace":"","labels":{},"annotations":{},"additionalRuleLabels":{},"additionalRuleAnnotations":{},"additionalAggregationLabels":[],"runbookUrl":"","rules":{}}
metrics.alertmanagerConfig: {"enabled":false,"labels":{},"annotations":{}}
metrics.dashboards: {"enabled":false,"namespace":"","labels":{},"annotations":{}}
jobs: {"resources":{},"podLabels":{},"podAnnotations":{}}
{{- end }}
