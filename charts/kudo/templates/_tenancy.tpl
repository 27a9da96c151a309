{{/* The mode of tenancy: strict or compat. */}}
{{- define "kudo.tenancyMode" -}}
{{- (include "kudo.tenancyDecision" . | fromJson).mode -}}
{{- end }}

{{/* The mode and why it is that one, as JSON. The reconciler of a release tells its mode by its
arguments. `lookup` finds nothing without a cluster, as in `helm template`. */}}
{{- define "kudo.tenancyDecision" -}}
{{- if not .Values.tenancy -}}
{{- fail "the values have no tenancy: with --reuse-values Helm leaves out the values that a newer chart adds. Use --reset-then-reuse-values." -}}
{{- end -}}
{{- $living := lookup "apps/v1" "Deployment" .Release.Namespace "kudo-reconciler" -}}
{{- if .Values.tenancy.mode -}}
{{- dict "mode" .Values.tenancy.mode "why" "tenancy.mode says so" | toJson -}}
{{- else if $living -}}
{{- include "kudo.livingTenancy" $living -}}
{{- else if .Values.takeOver -}}
{{- dict "mode" "compat" "why" "KUDO 0.19, which this release replaces, had no other" | toJson -}}
{{- else -}}
{{- dict "mode" "strict" "why" "this is a new installation" | toJson -}}
{{- end -}}
{{- end }}

{{/* The mode of a living reconciler, as JSON. Argument: its Deployment. */}}
{{- define "kudo.livingTenancy" -}}
{{- $found := "" -}}
{{- range dig "spec" "template" "spec" "containers" list . -}}
{{- range .env -}}
{{- if eq .name "KUDO_RECONCILER_TENANCY" }}{{ $found = default "" .value }}{{ end -}}
{{- end -}}
{{- range concat (default list .command) (default list .args) -}}
{{- if hasPrefix "--tenancy=" . }}{{ $found = trimPrefix "--tenancy=" . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if has $found (list "strict" "compat") -}}
{{- dict "mode" $found "why" "the release was installed so before" | toJson -}}
{{- else -}}
{{- dict "mode" "compat" "why" "the installed release is older than tenancy" | toJson -}}
{{- end -}}
{{- end }}

{{/* Rejects rights for the reconciler's own account in strict mode. */}}
{{- define "kudo.refuseRights" -}}
{{- $instead := "In strict mode plans have the rights of a ServiceAccount of their namespace, and the reconciler has none on what they write. Give the right to those accounts by Roles and RoleBindings (`kubectl kudo rbac` prints them), or set tenancy.mode=compat." -}}
{{- if .Values.rbac.clusterAdmin -}}
{{- fail (printf "rbac.clusterAdmin: %s" $instead) -}}
{{- end -}}
{{- if .Values.rbac.extraRules -}}
{{- fail (printf "rbac.extraRules: %s" $instead) -}}
{{- end -}}
{{- end }}

{{/* Rejects another mode than that of the rights. Arguments: service, its extraArgs. */}}
{{- define "kudo.refuseTenancyArgument" -}}
{{- $service := index . 0 -}}
{{- range index . 1 -}}
{{- if or (hasPrefix "--tenancy" .) (hasPrefix "--watch=" .) -}}
{{- fail (printf "%s.extraArgs: %s: set tenancy.mode and tenancy.watchedKinds instead; the rights of both services depend on them" $service .) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Rules for the kinds that the reconciler watches, one for each group. */}}
{{- define "kudo.watchedRules" -}}
{{- $groups := dict -}}
{{- range .Values.tenancy.watchedKinds -}}
{{- if eq . "secrets" -}}
{{- fail "tenancy.watchedKinds: secrets are never watched: a watch would read those of all namespaces with the reconciler's rights. They are read as the account of the Instance." -}}
{{- end -}}
{{- $parts := splitn "." 2 . -}}
{{- $group := default "" $parts._1 -}}
{{- $_ := set $groups $group (append (default list (get $groups $group)) $parts._0) -}}
{{- end -}}
{{- range $group, $kinds := $groups }}
- apiGroups: [{{ $group | quote }}]
  resources: [{{ join ", " (uniq $kinds | sortAlpha) }}]
  verbs: [list, watch]
{{- end -}}
{{- end }}

{{/* "true" if what is done as an account is bounded by constrained impersonation. */}}
{{- define "kudo.constrained" -}}
{{- $value := .Values.tenancy.constrainedImpersonation -}}
{{- if kindIs "invalid" $value -}}
{{- semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version -}}
{{- else -}}
{{- $value -}}
{{- end -}}
{{- end }}

{{/* The subject of all bindings of the reconciler. */}}
{{- define "kudo.reconcilerSubject" -}}
- kind: ServiceAccount
  name: kudo-reconciler
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The verbs that tasks send. */}}
{{- define "kudo.impersonateOn" -}}
{{- range list "get" "list" "create" "patch" "delete" }}
- "impersonate-on:serviceaccount:{{ . }}"
{{- end }}
{{- end }}

{{/* Rejects namespaces whose accounts nobody may act as. Arguments: root, namespace. */}}
{{- define "kudo.refuseReserved" -}}
{{- $namespace := index . 1 -}}
{{- if or (hasPrefix "kube-" $namespace) (eq $namespace (index . 0).Release.Namespace) -}}
{{- fail (printf "tenancy.namespaces: %s: plans act as nobody in kube-* and in the namespace of the release; take it off the list" $namespace) -}}
{{- end -}}
{{- end }}
