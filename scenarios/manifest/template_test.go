package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTagsInNeededValuesAreRefused(t *testing.T) {
	grace := func(value string) string {
		return deployment("      terminationGracePeriodSeconds: " + value + "\n" + oneContainer)
	}
	const helm, fill = "; render it first: helm template . > rendered.yaml", "; fill it in first: envsubst < f.yaml > rendered.yaml"
	for name, c := range map[string]refusalCase{
		"Helm, bare":       {grace("{{ .Values.grace }}"), 7, 38, "terminationGracePeriodSeconds holds a Helm or Go template tag, {{ .Values.grace }}" + helm},
		"Helm, quoted":     {grace(`"{{ .Values.grace }}"`), 7, 39, `terminationGracePeriodSeconds holds a Helm or Go template tag, {{ .Values.grace }}` + helm},
		"envsubst":         {grace("${GRACE}"), 7, 38, "terminationGracePeriodSeconds holds a variable for envsubst, ${GRACE}" + fill},
		"without braces":   {grace("$GRACE"), 7, 38, "terminationGracePeriodSeconds holds a variable for envsubst, $GRACE" + fill},
		"ERB":              {grace(`"<%= grace %>"`), 7, 39, `terminationGracePeriodSeconds holds an ERB tag, <%= grace %>; render it first: erb f.yaml > rendered.yaml`},
		"Jinja":            {grace("{{ grace }}  # {% set x %}"), 7, 38, "terminationGracePeriodSeconds holds a Jinja tag, {{ grace }}; render it first: jinja2 f.yaml > rendered.yaml, or the tool that fills it in"},
		"within a name":    {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-${ENV}\n", 4, 13, "name holds a variable for envsubst, ${ENV}" + fill},
		"for the kind":     {"apiVersion: apps/v1\nkind: {{ .kind }}\n", 2, 7, "kind holds a Helm or Go template tag, {{ .kind }}" + helm},
		"for a percentage": {rollout("Deployment", "apps/v1", "  strategy: {rollingUpdate: {maxSurge: \"${SURGE}\"}}\n"), 5, 41, `maxSurge holds a variable for envsubst, ${SURGE}` + fill},
		"for a mapping":    {rollout("Deployment", "apps/v1", "  strategy: {{ .Values.strategy }}\n"), 5, 13, "strategy holds a Helm or Go template tag, {{ .Values.strategy }}" + helm},
		"for a list":       {deployment("      containers: {{ .Values.containers }}\n"), 7, 19, "containers holds a Helm or Go template tag, {{ .Values.containers }}" + helm},
		"a long one":       {grace("{{ .Values.aVeryLongNameThatGoesOnAndOnAndOn }}"), 7, 38, "terminationGracePeriodSeconds holds a Helm or Go template tag, {{ .Values.aVeryLongNameThatGoesOnAndOnA..." + helm},
	} {
		t.Run(name, c.check)
	}
}

func TestTagsThatKeepAFileFromBeingYAMLAreNamed(t *testing.T) {
	const helm = "render it first: helm template . > rendered.yaml"
	for name, c := range map[string]refusalCase{
		"Helm, on a line of its own": {"# {{ no }}\nkind: Pod\n{{- if .x }}\nspec: {}\n{{- end }}\n", 3, 1,
			"a Helm or Go template tag stands here, so this is a template and not YAML yet (line 3: could not find expected ':'); " + helm},
		"Helm, before other text": {"kind: Pod\nspec:\n  image: {{ .a }}/b\n", 3, 10,
			"a Helm or Go template tag stands here, so this is a template and not YAML yet (line 3: did not find expected key); " + helm},
		"ERB": {"kind: Pod\n<% if x %>\nspec: {}\n", 2, 1,
			"an ERB tag stands here, so this is a template and not YAML yet (line 2: could not find expected ':'); render it first: erb f.yaml > rendered.yaml"},
		"Jinja": {"kind: Pod\n{% if x %}\nname: {{ x }}\n{% endif %}\n", 2, 1,
			"a Jinja tag stands here, so this is a template and not YAML yet (line 2: found character that cannot start any token); render it first: jinja2 f.yaml > rendered.yaml, or the tool that fills it in"},
	} {
		t.Run(name, c.check)
	}
}

func TestTagsElsewhereDoNoHarm(t *testing.T) {
	text := deployment(`      terminationGracePeriodSeconds: 10 # {{ .Values.grace }}
      containers:
      - name: c
        image: "registry.example/x:{{ .tag }}"
        env: {{ .Values.env }}
        args: ["<%= x %>", "${Y}"]
        lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 3; notify ${HOSTNAME}"]}}}
`)
	w, err := Parse("f.yaml", []byte(text), "")
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, w.Grace)
	assert.Equal(t, 3*time.Second, w.PreStopDuration)
}

func TestAliasesAndMergesAreFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		grace time.Duration
	}{
		"an alias for a value":         {"x: &g 70\n" + deployment("      terminationGracePeriodSeconds: *g\n"+oneContainer), 70},
		"a merged mapping":             {"x: &p {terminationGracePeriodSeconds: 71}\n" + deployment("      <<: *p\n"+oneContainer), 71},
		"its own key before a merged":  {"x: &p {terminationGracePeriodSeconds: 1}\n" + deployment("      <<: *p\n      terminationGracePeriodSeconds: 72\n"+oneContainer), 72},
		"the first of several merged":  {"x: &p {terminationGracePeriodSeconds: 73}\ny: &q {terminationGracePeriodSeconds: 1}\n" + deployment("      <<: [*p, *q]\n"+oneContainer), 73},
		"a merge within a merge":       {"x: &p {terminationGracePeriodSeconds: 74}\ny: &q {<<: *p}\n" + deployment("      <<: *q\n"+oneContainer), 74},
		"null before a merged":         {"x: &p {terminationGracePeriodSeconds: 1}\n" + deployment("      <<: *p\n      terminationGracePeriodSeconds:\n"+oneContainer), 30},
		"a merge that contains itself": {deployment("      &p\n      <<: *p\n      terminationGracePeriodSeconds: 75\n" + oneContainer), 75},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte(c.text), "")
			require.NoError(t, err)
			assert.Equal(t, c.grace*time.Second, w.Grace)
		})
	}
}

func TestAliasBombsAreHarmless(t *testing.T) {
	bomb, merges := "a: &a [x, x]\n", "m: &m {k: 1}\n"
	last, merged := "a", "m"
	for range 60 {
		bomb += last + "a: &" + last + "a [*" + last + ", *" + last + "]\n"
		merges += merged + "m: &" + merged + "m {<<: [*" + merged + ", *" + merged + "]}\n"
		last, merged = last+"a", merged+"m"
	}
	text := bomb + merges + deployment("      <<: *"+merged+"\n      volumes: *"+last+"\n"+oneContainer)
	w, err := Parse("f.yaml", []byte(text), "")
	require.NoError(t, err)
	assert.Equal(t, "d", w.Name)
}

func TestAnErrorBehindAnAliasPointsAtTheValue(t *testing.T) {
	line, column, message := refusal(t, "x: &g 70s\n"+deployment("      terminationGracePeriodSeconds: *g\n"+oneContainer), "")
	assert.Equal(t, `terminationGracePeriodSeconds "70s" is not a whole number of seconds; write 70`, message)
	assert.Equal(t, [2]int{1, 4}, [2]int{line, column})
}
