{{/* The webhooks that the replicas write into both configurations. */}}
{{- define "kudo.webhooks" -}}
{{- $webhook := .Values.webhook -}}
mutating:
  - name: mutate.instance-admission.kudo.dev
    clientConfig:
      {{- include "kudo.clientConfig" (list . "/mutate-kudo-dev-v1beta1-instance") | nindent 6 }}
    {{- include "kudo.instanceRules" . | nindent 4 }}
    {{- include "kudo.matchConditions" . | nindent 4 }}
    admissionReviewVersions: [v1]
    failurePolicy: {{ $webhook.failurePolicy }}
    matchPolicy: Equivalent
    reinvocationPolicy: Never
    sideEffects: None
    timeoutSeconds: {{ $webhook.timeoutSeconds }}
validating:
  - name: validate.instance-admission.kudo.dev
    clientConfig:
      {{- include "kudo.clientConfig" (list . "/validate-kudo-dev-v1beta1-instance") | nindent 6 }}
    {{- include "kudo.instanceRules" . | nindent 4 }}
    {{- include "kudo.matchConditions" . | nindent 4 }}
    admissionReviewVersions: [v1]
    failurePolicy: {{ $webhook.failurePolicy }}
    matchPolicy: Equivalent
    sideEffects: None
    timeoutSeconds: {{ $webhook.timeoutSeconds }}
{{- if eq (include "kudo.tenancyMode" .) "strict" }}
  - name: validate.operatorversion-admission.kudo.dev
    clientConfig:
      {{- include "kudo.clientConfig" (list . "/validate-kudo-dev-v1beta1-operatorversion") | nindent 6 }}
    rules:
      - apiGroups: [kudo.dev]
        apiVersions: [v1beta1]
        operations: [CREATE, UPDATE]
        resources: [operatorversions]
        scope: Namespaced
    # Labels, grants and finalizers pass without the webhook.
    matchConditions:
      - name: spec-changes
        expression: request.operation == 'CREATE' || object.?spec != oldObject.?spec
    admissionReviewVersions: [v1]
    failurePolicy: {{ $webhook.failurePolicy }}
    matchPolicy: Equivalent
    sideEffects: None
    timeoutSeconds: {{ $webhook.timeoutSeconds }}
{{- end }}
{{- end }}

{{/* Arguments: root, path. Only provided certificates set the caBundle here; otherwise the webhook or cert-manager does. */}}
{{- define "kudo.clientConfig" -}}
{{- $root := index . 0 -}}
service:
  name: kudo-webhook
  namespace: {{ $root.Release.Namespace }}
  path: {{ index . 1 }}
  port: 443
{{- if and (eq $root.Values.tls.mode "provided") (not $root.Values.tls.publicRoots) }}
caBundle: {{ $root.Values.tls.provided.caBundle | b64enc }}
{{- end }}
{{- end }}

{{- define "kudo.instanceRules" -}}
rules:
  - apiGroups: [kudo.dev]
    apiVersions: [v1beta1]
    operations: [CREATE, UPDATE]
    resources: [instances]
    scope: Namespaced
{{- end }}

{{- define "kudo.matchConditions" -}}
# A dead webhook blocks what has to be judged and nothing else: labels, finalizers and the
# reconciler's own bookkeeping pass.
matchConditions:
  - name: spec-changes
    expression: request.operation == 'CREATE' || object.?spec != oldObject.?spec
  - name: not-bookkeeping
    expression: >-
      request.operation == 'CREATE' ||
      request.userInfo.username != '{{ include "kudo.reconcilerUser" . }}' ||
      object.?spec.?parameters != oldObject.?spec.?parameters ||
      object.?spec.?parametersFrom != oldObject.?spec.?parametersFrom ||
      object.?spec.?operatorVersion != oldObject.?spec.?operatorVersion
{{- end }}
