{{- define "realmkeeper.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "realmkeeper.keyringNamespace" -}}
{{- default .Release.Namespace .Values.keyringNamespace -}}
{{- end -}}

{{- define "realmkeeper.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* Labels that select the pods of one component; immutable. Takes (list . "server"). */ -}}
{{- define "realmkeeper.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "realmkeeper.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "realmkeeper.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "realmkeeper.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* A process is ready after the database, and in the operator the schema, are available. */ -}}
{{- define "realmkeeper.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}

{{- /* Takes the root, the variable and the entry of the Secret: (list . "NAME" "url"). */ -}}
{{- define "realmkeeper.databaseUrl" -}}
{{- $database := (index . 0).Values.database -}}
- name: {{ index . 1 }}
  valueFrom:
    secretKeyRef:
      name: {{ required "database.existingSecret is required: the Secret with the URL of the database" $database.existingSecret }}
      key: {{ index . 2 }}
{{- end -}}

{{- define "realmkeeper.sharedEnv" -}}
- name: REALMKEEPER_BASE_URL
  value: {{ required "baseUrl is required: the URL at which clients reach the server" .Values.baseUrl | quote }}
- name: REALMKEEPER_KEYRING_NAMESPACE
  value: {{ include "realmkeeper.keyringNamespace" . | quote }}
# Caches compiled source for a faster start with less memory. /tmp is the only writable folder.
- name: NODE_COMPILE_CACHE
  value: /tmp/node-compile-cache
{{- end -}}

{{- /* The rights exist only while the Job runs. A failed Job stays, for its log. Takes the weight, which orders them. */ -}}
{{- define "realmkeeper.releaseHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
