{{/* Namespace, labels and annotations of a hook. Arguments: root, hook, weight. */}}
{{- define "kudo.hookMetadata" -}}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  {{- include "kudo.componentLabels" (list (index . 0) "hook") | nindent 2 }}
annotations:
  helm.sh/hook: {{ index . 1 }}
  helm.sh/hook-weight: {{ index . 2 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* A pod that runs files/hooks.py. Arguments: root, name of account and ConfigMap, command. */}}
{{- define "kudo.hookPod" -}}
{{- $root := index . 0 -}}
restartPolicy: Never
serviceAccountName: {{ index . 1 }}
enableServiceLinks: false
securityContext:
  {{- include "kudo.podSecurity" . | nindent 2 }}
{{- include "kudo.pullSecrets" $root }}
containers:
  - name: {{ index . 2 }}
    image: {{ include "kudo.image" (list $root $root.Values.cli.image) }}
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    command: [python, /hooks/hooks.py, {{ index . 2 }}]
    resources:
      requests: {cpu: 10m, memory: 32Mi}
      limits: {memory: 128Mi}
    securityContext:
      {{- include "kudo.containerSecurity" . | nindent 6 }}
    volumeMounts:
      - {name: hooks, mountPath: /hooks, readOnly: true}
volumes:
  - name: hooks
    configMap:
      name: {{ index . 1 }}
{{- end }}
