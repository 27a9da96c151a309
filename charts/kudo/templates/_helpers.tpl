{{/* Names are fixed: CRDs, webhook configurations and the certificate's DNS name allow one KUDO in a
cluster. */}}

{{- define "kudo.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: kudo
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: kudo
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of one component. Arguments: root, component. */}}
{{- define "kudo.componentLabels" -}}
{{ include "kudo.labels" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Labels that select the pods of one component; they never change. Arguments: root, component. */}}
{{- define "kudo.selector" -}}
app.kubernetes.io/name: kudo
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Reference of an image, without a host unless image.registry gives one. Arguments: root, image. */}}
{{- define "kudo.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := $image.repository -}}
{{- with $root.Values.image.registry }}{{- $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{- end -}}
{{- if $image.digest -}}
{{ $name }}@{{ $image.digest }}
{{- else -}}
{{ $name }}:{{ default $root.Chart.AppVersion $root.Values.image.tag }}
{{- end -}}
{{- end }}

{{/* The user name of the reconciler at the API server. */}}
{{- define "kudo.reconcilerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:kudo-reconciler
{{- end }}

{{/* The Secret with the webhook's certificate, where it is mounted as files. */}}
{{- define "kudo.certificateSecret" -}}
{{- if eq .Values.tls.mode "certManager" -}}
kudo-webhook-tls
{{- else -}}
{{ .Values.tls.provided.secretName }}
{{- end -}}
{{- end }}

{{- define "kudo.podSecurity" -}}
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "kudo.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Metadata of the pods of one service. Arguments: root, component, its values, metrics port. */}}
{{- define "kudo.podMetadata" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index . 2 -}}
labels:
  {{- include "kudo.componentLabels" (list $root $component) | nindent 2 }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  kubectl.kubernetes.io/default-container: {{ $component }}
  {{- if $root.Values.monitoring.scrapeAnnotations }}
  prometheus.io/scrape: "true"
  prometheus.io/path: /metrics
  prometheus.io/port: {{ index . 3 | quote }}
  {{- end }}
  {{- with $values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Parts of the pod spec that both services share. Arguments: root, component, its values. */}}
{{- define "kudo.podScheduling" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index . 2 -}}
serviceAccountName: kudo-{{ $component }}
enableServiceLinks: false
securityContext:
  {{- include "kudo.podSecurity" . | nindent 2 }}
{{- include "kudo.pullSecrets" $root }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if kindIs "invalid" $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kudo.selector" (list $root $component) | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- else if $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- end }}
{{- end }}

{{- define "kudo.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Probes on the port named probes. */}}
{{- define "kudo.probes" -}}
# A cold start is slow on a busy node; liveness begins after it.
startupProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* Egress of both services: DNS and the API server. */}}
{{- define "kudo.egress" -}}
egress:
  - ports:
      - {port: 53, protocol: UDP}
      - {port: 53, protocol: TCP}
  - ports:
      {{- range .Values.networkPolicy.egress.apiServerPorts }}
      - {port: {{ . }}, protocol: TCP}
      {{- end }}
{{- end }}

{{/* Ingress to metrics, on the port of the probes: nothing where nobody is to read metrics, since the
kubelet needs no rule. Argument: list of root, port. */}}
{{- define "kudo.metricsIngress" -}}
{{- $values := (index . 0).Values }}
{{- with $values.networkPolicy.metricsFrom -}}
- ports:
    - {port: {{ index $ 1 }}, protocol: TCP}
  from:
    {{- toYaml . | nindent 4 }}
{{- else }}
{{- if or $values.monitoring.scrapeAnnotations $values.monitoring.serviceMonitor.enabled -}}
- ports:
    - {port: {{ index . 1 }}, protocol: TCP}
{{- end }}
{{- end }}
{{- end }}

{{/* Seconds of a Go duration, counted on a date since templates know no other way to read one. */}}
{{- define "kudo.seconds" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{- sub (dateModify . $start | unixEpoch | int64) (unixEpoch $start | int64) -}}
{{- end }}

{{/* Rejects lifetimes that cert-manager rejects with an unclear text, and those that renew all the time.
Argument: tls.certManager. */}}
{{- define "kudo.checkLifetimes" -}}
{{- $duration := include "kudo.seconds" .duration | int64 }}
{{- $before := include "kudo.seconds" .renewBefore | int64 }}
{{- if lt $duration 3600 }}
{{- fail (printf "tls.certManager.duration (%s) must be at least 1h" .duration) }}
{{- end }}
{{- if lt $before 300 }}
{{- fail (printf "tls.certManager.renewBefore (%s) must be at least 5m" .renewBefore) }}
{{- end }}
{{- if lt $duration (add $before 600) }}
{{- fail (printf "tls.certManager.duration (%s) must be longer than tls.certManager.renewBefore (%s) by at least 10m: the certificate is renewed that long before its end" .duration .renewBefore) }}
{{- end }}
{{- end }}

{{/* Options of what namespaces may take, of tokens for metrics and of the debug port, as items of a list.
What is null is left to the service, so that its defaults are in one place. The service refuses a share
that is not below its total, too: it knows both where only one of them is set here.
Arguments: root, component, its values. */}}
{{- define "kudo.sharingArgs" -}}
{{- $root := index . 0 }}{{ $component := index . 1 }}{{ $values := index . 2 -}}
{{- with $values.fairness }}
{{- $totals := dict "namespaceWorkers" $values.workers "namespaceWorkerProcesses" $values.workerProcesses }}
{{- range $name, $share := . }}
{{- $option := kebabcase $name }}
{{- if kindIs "map" $share }}
{{- if and $share.total $share.namespace (le (include "kudo.amount" $share.total | int64) (include "kudo.amount" $share.namespace | int64)) }}
{{- fail (printf "%s.fairness.%s: namespace (%v) must be less than total (%v)" $component $name $share.namespace $share.total) }}
{{- end }}
{{- with $share.total }}
- --{{ $option }}={{ . }}
{{- end }}
{{- with $share.namespace }}
- --namespace-{{ $option }}={{ . }}
{{- end }}
{{- else if not (kindIs "invalid" $share) }}
{{- if le (get $totals $name | int64) ($share | int64) }}
{{- fail (printf "%s.fairness.%s (%v) must be less than %v" $component $name $share (get $totals $name)) }}
{{- end }}
- --{{ $option }}={{ $share }}
{{- end }}
{{- end }}
{{- end }}
{{- if $root.Values.monitoring.requireToken }}
- --metrics-auth=token
{{- end }}
{{- with $values.debugPort }}
- --debug-port={{ . }}
{{- end }}
{{- end }}

{{/* A number, or an amount of memory such as 16Mi in bytes. */}}
{{- define "kudo.amount" -}}
{{- $text := toString . }}
{{- if hasSuffix "Gi" $text }}{{ mul (trimSuffix "Gi" $text | int64) 1073741824 }}
{{- else if hasSuffix "Mi" $text }}{{ mul (trimSuffix "Mi" $text | int64) 1048576 }}
{{- else if hasSuffix "Ki" $text }}{{ mul (trimSuffix "Ki" $text | int64) 1024 }}
{{- else }}{{ int64 . }}
{{- end }}
{{- end }}
