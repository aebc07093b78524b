package manifest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

// refusal parses text, which must fail, and returns position and first line of the message.
func refusal(t *testing.T, text, selector string) (line, column int, message string) {
	t.Helper()
	return refusalOf(t, "f.yaml", text, selector)
}

// refusalOf is refusal of a file with a name.
func refusalOf(t *testing.T, file, text, selector string) (line, column int, message string) {
	t.Helper()
	w, err := Parse(file, []byte(text), selector)
	require.Error(t, err, "read as %+v", w)
	var e *Error
	require.ErrorAs(t, err, &e)
	message, _, _ = strings.Cut(strings.TrimPrefix(e.Error(), file), "\n")
	_, message, _ = strings.Cut(message, ": ")
	return e.Line, e.Column, message
}

type refusalCase struct {
	text         string
	line, column int
	message      string
}

func (c refusalCase) check(t *testing.T) {
	line, column, message := refusal(t, c.text, "")
	assert.Equal(t, c.message, message)
	assert.Equal(t, [2]int{c.line, c.column}, [2]int{line, column}, "line and column")
}

const oneContainer = "      containers: [{name: c}]\n"

func TestValuesThatKubernetesRefuses(t *testing.T) {
	grace := func(value string) string {
		return deployment("      terminationGracePeriodSeconds: " + value + "\n" + oneContainer)
	}
	preStop := func(value string) string {
		return deployment("      containers:\n      - name: c\n        lifecycle: {preStop: " + value + "}\n")
	}
	strategy := func(value string) string { return rollout("Deployment", "apps/v1", "  strategy: "+value+"\n") }
	update := func(kind, value string) string { return rollout(kind, "apps/v1", "  updateStrategy: "+value+"\n") }
	for name, c := range map[string]refusalCase{
		"grace with a unit":        {grace(`"30s"`), 7, 38, `terminationGracePeriodSeconds "30s" is not a whole number of seconds; write 30`},
		"grace in minutes":         {grace("5m"), 7, 38, `terminationGracePeriodSeconds "5m" is not a whole number of seconds; write 300`},
		"grace in quotes":          {grace("'30'"), 7, 38, `terminationGracePeriodSeconds "30" is not a whole number of seconds; write 30 without quotes`},
		"grace with a fraction":    {grace("1.5"), 7, 38, `terminationGracePeriodSeconds 1.5 is not a whole number of seconds; write 2`},
		"grace in words":           {grace("long"), 7, 38, `terminationGracePeriodSeconds "long" is not a whole number of seconds; write a number such as 30`},
		"grace as a list":          {grace("[30]"), 7, 38, `terminationGracePeriodSeconds a list is not a whole number of seconds; write a number such as 30`},
		"grace below zero":         {grace("-1"), 7, 38, `terminationGracePeriodSeconds -1 is negative; write 0 or more`},
		"grace of three centuries": {grace("9999999999"), 7, 38, `terminationGracePeriodSeconds 9999999999 is too large; the most is 9223372036`},
		"grace beyond 64 bits":     {grace("18446744073709551615"), 7, 38, `terminationGracePeriodSeconds 18446744073709551615 is too large; the most is 9223372036`},
		"grace written twice":      {grace("30\n      terminationGracePeriodSeconds: 60"), 8, 7, `terminationGracePeriodSeconds is written twice, first on line 7; keep one of them`},

		"replicas below zero":      {rollout("Deployment", "apps/v1", "  replicas: -2\n"), 5, 13, `replicas -2 is negative; write 0 or more`},
		"replicas beyond 32 bits":  {rollout("Deployment", "apps/v1", "  replicas: 3000000000\n"), 5, 13, `replicas 3000000000 is too large; the most is 2147483647`},
		"replicas as text":         {rollout("Deployment", "apps/v1", "  replicas: three\n"), 5, 13, `replicas "three" is not a whole number; write a number such as 30`},
		"deadline within minReady": {rollout("Deployment", "apps/v1", "  minReadySeconds: 60\n  progressDeadlineSeconds: 60\n"), 6, 28, `progressDeadlineSeconds 60 must exceed minReadySeconds 60; raise it or lower minReadySeconds`},

		"neither surge nor unavailable": {strategy("{rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}"), 5, 59, `maxUnavailable 0% with maxSurge 0 lets no pod be replaced; make one of them at least 1`},
		"surge without the percent":     {strategy(`{rollingUpdate: {maxSurge: "1"}}`), 5, 40, `maxSurge "1" is neither a whole number nor a percentage; write 1 without quotes, or 1%`},
		"surge as a fraction":           {strategy(`{rollingUpdate: {maxSurge: 0.25}}`), 5, 40, `maxSurge 0.25 is neither a whole number nor a percentage; write 25%`},
		"surge below zero":              {strategy(`{rollingUpdate: {maxSurge: -1}}`), 5, 40, `maxSurge -1 is negative; write 0 or more`},
		"surge below zero percent":      {strategy(`{rollingUpdate: {maxSurge: -1%}}`), 5, 40, `maxSurge "-1%" is neither a whole number nor a percentage; write a number such as 1, or a percentage such as 25%`},
		"more than all unavailable":     {strategy(`{rollingUpdate: {maxUnavailable: 101%}}`), 5, 46, `maxUnavailable 101% is more than 100%; write 100% or less`},
		"a strategy nobody knows":       {strategy(`{type: BlueGreen}`), 5, 20, `type "BlueGreen" is not known; write RollingUpdate or Recreate`},
		"Recreate with rolling values":  {strategy(`{type: Recreate, rollingUpdate: {}}`), 5, 45, `rollingUpdate has no meaning with type Recreate; remove it or write type: RollingUpdate`},
		"strategy as text":              {strategy("Recreate"), 5, 13, `strategy is not a mapping; write keys and values, indented below it`},
		"OnDelete with rolling values":  {update("StatefulSet", `{type: OnDelete, rollingUpdate: {}}`), 5, 51, `rollingUpdate has no meaning with type OnDelete; remove it or write type: RollingUpdate`},
		"partition below zero":          {update("StatefulSet", `{rollingUpdate: {partition: -1}}`), 5, 47, `partition -1 is negative; write 0 or more`},
		"StatefulSet that cannot move":  {update("StatefulSet", `{rollingUpdate: {maxUnavailable: 0}}`), 5, 52, `maxUnavailable 0 lets no pod be replaced; make it at least 1`},
		"DaemonSet with both":           {update("DaemonSet", `{rollingUpdate: {maxSurge: 1}}`), 5, 46, `maxSurge 1 with maxUnavailable 1: a DaemonSet needs exactly one of them above 0; write 0 for the other`},

		"a hook without action":        {preStop("{}"), 9, 30, `preStop has no action; write exec, httpGet or sleep below it`},
		"a hook with two actions":      {preStop("{exec: {command: [a]}, sleep: {seconds: 1}}"), 9, 60, `preStop has both exec and sleep; keep one of them`},
		"a sleep beyond the grace":     {preStop("{sleep: {seconds: 60}}"), 9, 48, `sleep.seconds 60 is longer than terminationGracePeriodSeconds 30, which Kubernetes refuses; raise the grace or sleep less`},
		"a command with a bare number": {preStop("{exec: {command: [sleep, 60]}}"), 9, 55, `command 60 is not text; put it in quotes: "60"`},
		"a command in one string":      {preStop("{exec: {command: sleep 60}}"), 9, 47, `command is not a list; begin each item with a dash`},

		"a signal nobody knows":    {deployment("      containers:\n      - {name: c, lifecycle: {stopSignal: TERM}}\n"), 8, 43, `stopSignal "TERM" is not a signal; write a name such as SIGTERM`},
		"a Deployment that ends":   {deployment("      restartPolicy: Never\n" + oneContainer), 7, 22, `restartPolicy "Never" is not known; write Always`},
		"a Job without an end":     {rollout("Job", "batch/v1", ""), 5, 20, `restartPolicy is not set; a Job needs OnFailure or Never`},
		"no containers":            {deployment("      containers: []\n"), 7, 7, `containers is empty; a Deployment needs at least one container`},
		"a container of no name":   {deployment("      containers: [{image: x}]\n"), 7, 20, `name of a container is not set; give the container a name`},
		"a container that is not":  {deployment("      containers: [x]\n"), 7, 20, "containers has an item that is not a mapping; write `- name: ...`"},
		"no template":              {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {}\n", 4, 7, `spec.template is not set; a Deployment needs it`},
		"no name":                  {"apiVersion: apps/v1\nkind: Deployment\nspec: {}\n", 1, 1, `metadata.name is not set; give the Deployment a name`},
		"a placeholder for a name": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: <NAME>}\n", 3, 18, `name "<NAME>" is not a name; use small letters, digits, - and .`},
		"a value of many lines":    {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: !!int \"a\n\n  b\"}\n", 3, 18, `name a?b is not text; put it in quotes: "a\nb"`},
		"a number for a name":      {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: 7}\n", 3, 18, `name 7 is not text; put it in quotes: "7"`},
		"no apiVersion":            {"kind: Deployment\nmetadata: {name: d}\n", 1, 1, "apiVersion is not set; write it as `kubectl explain deployment` gives it"},
		"a kind in small letters":  {"apiVersion: apps/v1\nkind: deployment\n", 2, 7, `kind "deployment" is not a kind; write Deployment`},
		"the kind forgotten":       {"apiVersion: apps/v1\nmetadata: {name: d}\nspec: {}\n", 1, 1, `kind is not set; write kind: Deployment or what it is`},
		"a kind written twice":     {"kind: Pod\napiVersion: v1\nkind: Job\n", 3, 1, `kind is written twice, first on line 1; keep one of them`},
	} {
		t.Run(name, c.check)
	}
}

func TestTextThatIsNotYAML(t *testing.T) {
	for name, c := range map[string]refusalCase{
		"a tab":                      {"apiVersion: v1\nkind: Pod\nmetadata:\n\tname: p\n", 4, 1, "is indented with a tab, which YAML does not allow; indent with spaces"},
		"a tab behind spaces":        {"apiVersion: v1\nkind: Pod\nmetadata:\n  \tname: p\n", 4, 3, "is indented with a tab, which YAML does not allow; indent with spaces"},
		"a quote left open":          {"kind: Pod\nname: \"p\n", 2, 1, "is not YAML: found unexpected end of stream; check indentation, quotes and brackets from here on"},
		"two colons":                 {"kind: Pod\nspec: a: b\n", 2, 1, "is not YAML: mapping values are not allowed in this context; check indentation, quotes and brackets from here on"},
		"a bracket left open":        {"kind: Pod\n\nspec: {a: 1\nb: [2}\n", 3, 1, "is not YAML: did not find expected ',' or '}'; check indentation, quotes and brackets from here on"},
		"an alias without an anchor": {"kind: Pod\nspec: *pod\n", 2, 7, "alias *pod has no anchor before it; write &pod before the value it stands for"},
		"a zero byte":                {"kind: Pod\nname: \x00\n", 2, 7, "is not text: a byte that UTF-8 text does not hold stands here; name a YAML file, saved as UTF-8"},
		"Latin 1":                    {"kind: Pod\n# é caf\xe9\n", 2, 8, "is not text: a byte that UTF-8 text does not hold stands here; name a YAML file, saved as UTF-8"},
		"UTF-16":                     {"\xff\xfek\x00", 0, 0, "is UTF-16 text; save it as UTF-8"},
		"nothing":                    {" \n\n", 0, 0, "is empty; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"comments only":              {"# nothing\n---\n", 0, 0, "holds nothing that is read here; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"one word":                   {"hello\n", 0, 0, "holds nothing that is read here; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"too much":                   {strings.Repeat("#", maxBytes+1), 0, 0, "is larger than 16 MiB; cut the workload out into a file of its own"},
	} {
		t.Run(name, c.check)
	}
}

// What is read of such a file would be half of it, so nobody learns that the rest is not.
func TestWhatIsWrittenElsewhereIsRefused(t *testing.T) {
	for name, c := range map[string]refusalCase{
		"two documents that Compose merges": {"services: {w: {image: a}}\n---\nservices: {w: {stop_grace_period: 9s}}\n", 3, 1,
			"is one of 2 documents in this file, and only one can be read; let Compose fill it in first: docker compose config > rendered.yaml"},
		"a document before that of Render": {"x: 1\n---\nservices: [{type: worker, name: w}]\n", 1, 1,
			"is one of 2 documents in this file, and only one can be read; put each document into a file of its own"},
		"services that Compose includes": {"include: [other.yaml]\n", 0, 0,
			"is a Compose file whose services stand in others; let Compose fill it in first: docker compose config > rendered.yaml"},
		"version 2 of Cloud Run": {"name: projects/p/locations/l/services/r\ntemplate: {containers: [{image: a}]}\n", 0, 0,
			"looks like what version 2 of the Cloud Run API writes, and version 1 is read; export it: gcloud run services describe NAME --format export > service.yaml"},
	} {
		t.Run(name, c.check)
	}
}

func TestAnObjectWithServicesIsNotCompose(t *testing.T) {
	text := "apiVersion: example.org/v1\nkind: Mesh\nservices: {a: {image: x}}\n---\n" + deployment("      terminationGracePeriodSeconds: 7\n"+oneContainer)
	w, err := Parse("f.yaml", []byte(text), "")
	require.NoError(t, err)
	assert.Equal(t, "Deployment", w.Kind)
}

func TestDropInsOfAUnitAreNotPassedOver(t *testing.T) {
	unit := filepath.Join(t.TempDir(), "w.service")
	require.NoError(t, os.WriteFile(unit, []byte("[Service]\nExecStart=/w\n"), 0o600))
	_, err := Load(unit, "")
	require.NoError(t, err)

	require.NoError(t, os.Mkdir(unit+".d", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(unit+".d", "README"), nil, 0o600))
	_, err = Load(unit, "")
	require.NoError(t, err, "only *.conf is a drop-in")

	dropIn := filepath.Join(unit+".d", "10-stop.conf")
	require.NoError(t, os.WriteFile(dropIn, []byte("[Service]\nTimeoutStopSec=10min\n"), 0o600))
	_, err = Load(unit, "")
	assert.EqualError(t, err, unit+": is changed by "+dropIn+", and drop-ins are not followed; put them into one file: cat "+unit+" "+unit+".d/*.conf > whole.service")

	whole, err := Parse("w.service", []byte("[Service]\nExecStart=/w\n[Service]\nTimeoutStopSec=10min\n"), "")
	require.NoError(t, err)
	assert.Equal(t, 10*time.Minute, whole.Grace, "what the remedy makes says the same")
}

// "foo@.service.d" holds for every foo@NAME.service (systemd.unit(5)).
func TestDropInsOfATemplateHoldForItsInstances(t *testing.T) {
	folder := t.TempDir()
	unit := filepath.Join(folder, "w@1.service")
	dropIn := filepath.Join(folder, "w@.service.d", "stop.conf")
	require.NoError(t, os.WriteFile(unit, []byte("[Service]\nExecStart=/w\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Dir(dropIn), 0o700))
	require.NoError(t, os.WriteFile(dropIn, []byte("[Service]\nTimeoutStopSec=10min\n"), 0o600))
	_, err := Load(unit, "")
	assert.EqualError(t, err, unit+": is changed by "+dropIn+", and drop-ins are not followed; put them into one file: cat "+unit+" "+filepath.Dir(dropIn)+"/*.conf > whole.service")
}

// systemd would ignore it with a warning, and go on with what it had.
func TestAUnitsSignalHasNoSmallLetters(t *testing.T) {
	for _, key := range []string{"KillSignal", "RestartKillSignal", "FinalKillSignal"} {
		_, err := Parse("w.service", []byte("[Service]\n"+key+"=sigint\n"), "")
		assert.ErrorContains(t, err, "w.service:2:"+strconv.Itoa(len(key)+2)+": "+key+" \"sigint\" is no signal to systemd, which ignores it; write SIGINT")
	}
}

func TestASignalThatDoesNotExistIsRefused(t *testing.T) {
	for _, signal := range []string{"BOGUS", "9x", "SIGSIGTERM", "RTMIN+x", "77"} {
		_, _, message := refusal(t, "services: {w: {image: x, stop_signal: "+signal+"}}\n", "")
		assert.Contains(t, message, "is not a signal; write a name such as SIGTERM", signal)
	}
	for _, signal := range []string{"TERM", "sigwinch", "SIGRTMIN+3", "15"} {
		_, err := Parse("f.yaml", []byte("services: {w: {image: x, stop_signal: "+signal+"}}\n"), "")
		assert.NoError(t, err, signal)
	}
}

func TestFilesOfOtherFormsAreNotCalledYAML(t *testing.T) {
	for file, c := range map[string]struct{ text, message string }{
		"Cargo.toml": {"[package]\nname=\"x\"\n", "Cargo.toml: is of none of the forms that are read; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"b.timer":    {"[Timer]\nOnCalendar=daily\n", "b.timer: is of none of the forms that are read; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"k.json":     {"{\"kind\":\"Pod\"}\n{\"kind\":\"Pod\"}\n", "k.json:2:1: is a second JSON value, and a file has one; put them into one list: jq -s '{apiVersion: \"v1\", kind: \"List\", items: .}'"},
		"cut.json":   {"{\"family\":\"f\"", "cut.json:1:1: is not JSON: did not find expected ',' or '}'; check quotes, commas and brackets from here on"},
	} {
		_, err := Parse(file, []byte(c.text), "")
		require.Error(t, err, file)
		message, _, _ := strings.Cut(err.Error(), "\n")
		assert.Equal(t, c.message, message)
	}
	w, err := Parse("fly-staging.toml", []byte("app = \"a\"\n"), "")
	require.NoError(t, err)
	assert.Equal(t, model.Fly, w.Supervisor)
}

func TestFilesWithoutAWorkload(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"a byte order mark":    {"\ufeff\n", "holds nothing that is read here; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"Helm values":          {"replicaCount: 2\nimage: {tag: x}\n", "has no kind and no apiVersion, so it is not a manifest; it looks like a values file of a Helm chart; render the chart and name the result: helm template . -f f.yaml > rendered.yaml"},
		"Chart.yaml":           {"apiVersion: v2\nname: x\nversion: 1.0.0\n", "has no kind; it looks like the Chart.yaml of a Helm chart; render the chart and name the result: helm template . > rendered.yaml"},
		"Kustomization":        {"kind: Kustomization\nresources: [x]\n", "holds no workload; found Kustomization (line 1); build it first: kubectl kustomize . > rendered.yaml"},
		"other kinds":          {"kind: Service\n---\nkind: ConfigMap\n---\nkind: Service\n", "holds no workload; found Service (lines 1, 5), ConfigMap (line 3); name a file with a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob or Pod"},
		"a namesake":           {"apiVersion: example.org/v1\nkind: Deployment\n", "holds no workload; found example.org/v1 Deployment (line 1); name a file with a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob or Pod"},
		"an empty List":        {"apiVersion: v1\nkind: List\nitems: []\n", "holds nothing that is read here; name a file with a workload, such as a Deployment, a Compose service or a systemd unit"},
		"a Cloud Run job":      {"apiVersion: run.googleapis.com/v1\nkind: Job\nmetadata: {name: j}\n", "holds no workload; found run.googleapis.com/v1 Job (line 1); name a service or a worker pool: a job of Cloud Run runs to its end, and no deploy stops it"},
		"values with services": {"worker: {image: {repository: x}}\n", "has no kind and no apiVersion, so it is not a manifest; it looks like a values file of a Helm chart; render the chart and name the result: helm template . -f f.yaml > rendered.yaml"},
		"version 1 of Compose": {"worker:\n  image: x\nweb:\n  build: .\n", "looks like version 1 of Compose, which has no services; indent everything by two blanks, below a first line services:"},
		"heroku.yml":           {"build: {docker: {web: Dockerfile}}\nrun: {worker: x}\n", "looks like a heroku.yml, which says what runs and nothing about how it stops; write supervisor: {kind: heroku} in a scenario, or name a Procfile with the same commands"},
		"app.json":             {`{"name": "x", "formation": {"worker": {"quantity": 2}}}`, "looks like an app.json of Heroku, which says nothing about how a dyno stops; name the Procfile beside it"},
		"a state of Terraform": {`{"format_version": "1.0", "terraform_version": "1.9.0", "values": {}}`, "is what Terraform prints of a state or a plan; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Kamal":                {"service: x\nimage: y\nservers: {web: [h]}\n", "looks like a deploy.yml of Kamal, which stops containers as docker stop does; write supervisor: {kind: docker, grace: 30s} in a scenario, with its drain_timeout for the grace"},
		"Railway":              {`{"$schema": "https://railway.app/railway.schema.json", "deploy": {}}`, "looks like a configuration of Railway; write supervisor: {kind: plain, grace: 30s} in a scenario, with its drainingSeconds for the grace"},
		"AWS Copilot":          {"name: w\ntype: Worker Service\n", "looks like a manifest of AWS Copilot; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Fly as JSON":          {`{"app": "x", "kill_timeout": 5}`, "looks like a configuration of Fly that is not TOML; save it as TOML: fly config save --app NAME"},
		"systemd in a map":     {"kind: ConfigMap\ndata: |\n[Unit]\n", "is not YAML: could not find expected ':'; check indentation, quotes and brackets from here on"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, message := refusal(t, c.text, "")
			assert.Equal(t, c.message, message)
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir: dir + ": is a directory; name one file; render a chart with `helm template " + dir +
			" > rendered.yaml`, a kustomization with `kubectl kustomize " + dir + " > rendered.yaml`",
		filepath.Join(dir, "gone.yaml"):       filepath.Join(dir, "gone.yaml") + ": does not exist; check the path",
		filepath.Join(dir, "file", "in.yaml"): filepath.Join(dir, "file", "in.yaml") + ": cannot be opened: not a directory",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		_, err := Load(path, "")
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.EqualError(t, err, want)
	}
}
