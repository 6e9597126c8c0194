{{- define "smarter.labels" -}}
app.kubernetes.io/name: smarter
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "smarter.selector" -}}
app.kubernetes.io/name: smarter
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The pod of every component: no root, no token, secrets by reference, the key ring as a file. */}}
{{- define "smarter.pod" -}}
serviceAccountName: {{ .root.Release.Name }}-smarter
automountServiceAccountToken: {{ eq .component "worker" }}
enableServiceLinks: false
securityContext: {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
volumes:
  - name: keys
    secret: {secretName: {{ .root.Values.existingSecret }}, defaultMode: 0440, items: [{key: kek.json, path: kek.json}]}
  - {name: tmp, emptyDir: {}}
containers:
  - name: {{ .component }}
    image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    {{- with .command }}
    command: {{ toJson . }}
    {{- end }}
    {{- with .ports }}
    ports: {{ toJson . }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    resources: {{ toJson .resources }}
    env:
      - {name: SMARTER_KEK_FILE, value: /keys/kek.json}
      - {name: SMARTER_STATE_DIR, value: /tmp}
      {{- range $name, $value := .root.Values.settings }}
      - {name: {{ $name }}, value: {{ $value | quote }}}
      {{- end }}
      {{- range list "DATABASE_URL" "BROKER_URL" "DJANGO_SECRET_KEY" }}
      - {name: {{ . }}, valueFrom: {secretKeyRef: {name: {{ $.root.Values.existingSecret }}, key: {{ . }}}}}
      {{- end }}
    volumeMounts:
      - {name: keys, mountPath: /keys, readOnly: true}
      - {name: tmp, mountPath: /tmp}
{{- end }}
