{{- define "skill-registry.name" -}}
{{- .Values.fullnameOverride | default (contains "skill-registry" .Release.Name | ternary .Release.Name (printf "%s-skill-registry" .Release.Name)) | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "skill-registry.selector" -}}
app.kubernetes.io/name: skill-registry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "skill-registry.labels" -}}
{{ include "skill-registry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "skill-registry.secret" -}}
{{- .Values.existingSecret | default (include "skill-registry.name" .) -}}
{{- end -}}

{{/* Rejects values that cannot work, with the messages of the service where it has them. */}}
{{- define "skill-registry.check" -}}
{{- if .Values.registry.enabled -}}
{{- if not (or .Values.s3.bucket .Values.blobs.dir) -}}
{{- fail "Registry is enabled but blob storage is not configured: set s3.bucket or blobs.dir" -}}
{{- end -}}
{{- if not (or .Values.registryIndex.url .Values.secrets.registryIndexUrl .Values.existingSecret) -}}
{{- fail "Registry is enabled but the registry index is not configured: set registryIndex.url, secrets.registryIndexUrl, or existingSecret with the key registry-index-url" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.database.external (not (or .Values.secrets.databaseUrl .Values.existingSecret)) -}}
{{- fail "database.external needs the URL of the database: set secrets.databaseUrl, or existingSecret with the key database-url" -}}
{{- end -}}
{{- if and .Values.secrets.databaseUrl (not .Values.database.external) -}}
{{- fail "secrets.databaseUrl is set but not used: set database.external" -}}
{{- end -}}
{{- if and .Values.secrets.milvusToken (not .Values.milvus.uri) -}}
{{- fail "secrets.milvusToken is set but not used: set milvus.uri" -}}
{{- end -}}
{{- if gt (int .Values.registry.replicaCount) 1 -}}
{{- if not .Values.database.external -}}
{{- fail "registry.replicaCount above 1 needs PostgreSQL: replicas cannot share a SQLite file; set database.external" -}}
{{- end -}}
{{- if and .Values.registry.enabled (not .Values.s3.bucket) -}}
{{- fail "registry.replicaCount above 1 needs s3.bucket: blobs.dir is a folder of one replica" -}}
{{- end -}}
{{- if and .Values.persistence.skills.enabled (not .Values.persistence.skills.existingClaim) (not (has "ReadWriteMany" .Values.persistence.skills.accessModes)) -}}
{{- fail "registry.replicaCount above 1 needs skills that all replicas see: persistence.skills.accessModes [ReadWriteMany], an existingClaim, or persistence.skills.enabled false" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Settings as TOML, one dotted key per line. JSON strings, numbers, booleans and lists are valid TOML. */}}
{{- define "skill-registry.toml" -}}
{{- range $key, $value := .table -}}
{{- if kindIs "map" $value -}}
{{- include "skill-registry.toml" (dict "prefix" (printf "%s%s." $.prefix $key) "table" $value) -}}
{{- else if and (kindIs "slice" $value) $value (kindIs "map" (first $value)) -}}
{{- printf "%s%s = %s\n" $.prefix $key ($value | toJson | toJson) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- printf "%s%s = %s\n" $.prefix $key ($value | toJson) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "skill-registry.settings" -}}
{{- $registry := dict "enabled" .Values.registry.enabled -}}
{{- $server := dict "host" "0.0.0.0" "port" 8080 -}}
{{- $index := dict "path" "/var/lib/registry-index" "branch" .Values.registryIndex.branch "url" .Values.registryIndex.url -}}
{{- $fixed := dict
  "profile" "registry"
  "skills_dir" "/app/skills"
  "data_dir" "/var/lib/skill-registry"
  "server" $server
  "registry" $registry
  "registryIndex" $index
  "s3" .Values.s3
  "blobs" .Values.blobs
  "auth" (dict "issuer" .Values.auth.issuer)
  "project" (dict "file" "/var/lib/skill-registry/skill-project.toml")
  "limits" (dict "drain_seconds" .Values.drainSeconds)
-}}
{{- if .Values.milvus.uri -}}
{{- $_ := set $fixed "search" (dict "vectors" "milvus" "milvus_uri" .Values.milvus.uri "milvus_database" .Values.milvus.database) -}}
{{- end -}}
{{- $defaults := dict "log" (dict "format" "json") "embedding" (dict "models_dir" "/opt/skill-registry/models") -}}
{{- $settings := mergeOverwrite $defaults (deepCopy .Values.config) (deepCopy $fixed) -}}
{{- include "skill-registry.toml" (dict "prefix" "" "table" $settings) -}}
{{- end -}}

{{- define "skill-registry.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
env:
  - name: SKILL_REGISTRY_AUTH_SECRET
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: auth-secret } }
  - name: SKILL_REGISTRY_AUTH_PREVIOUS_SECRET
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: auth-previous-secret, optional: true } }
  - name: SKILL_REGISTRY_TRANSPARENCY_KEY
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: transparency-key } }
  - name: SKILL_REGISTRY_EMBEDDING_API_KEY
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: embedding-api-key, optional: true } }
  {{- if .Values.database.external }}
  - name: SKILL_REGISTRY_DATABASE_URL
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: database-url } }
  {{- end }}
  {{- if and .Values.registry.enabled (not .Values.registryIndex.url) }}
  - name: SKILL_REGISTRY_REGISTRY_INDEX_URL
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: registry-index-url } }
  {{- end }}
  {{- if .Values.milvus.uri }}
  - name: SKILL_REGISTRY_SEARCH_MILVUS_TOKEN
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: milvus-token, optional: true } }
  {{- end }}
  {{- if .Values.s3.bucket }}
  - name: AWS_ACCESS_KEY_ID
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: s3-access-key-id, optional: true } }
  - name: AWS_SECRET_ACCESS_KEY
    valueFrom: { secretKeyRef: { name: {{ include "skill-registry.secret" . }}, key: s3-secret-access-key, optional: true } }
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
resources: {{ toJson .Values.resources }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: config, mountPath: /etc/skill-registry, readOnly: true }
  - { name: data, mountPath: /var/lib/skill-registry }
  - { name: skills, mountPath: /app/skills, readOnly: {{ not .Values.persistence.skills.enabled }} }
  {{- if .Values.registry.enabled }}
  - { name: registry-index, mountPath: /var/lib/registry-index }
  {{- end }}
  - { name: tmp, mountPath: /tmp }
{{- end -}}
