package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDeploymentIsReadWhole(t *testing.T) {
	w, err := Load("testdata/deployment.yaml", "")
	require.NoError(t, err)
	assert.Equal(t, &Workload{
		File: "testdata/deployment.yaml", Line: 2,
		Kind: "Deployment", Name: "mailer", Namespace: "post", APIVersion: "apps/v1",
		Replicas: 6,
		Strategy: Strategy{Type: RollingUpdate,
			MaxSurge: IntOrPercent{25, true}, MaxUnavailable: IntOrPercent{20, true}},
		Grace: 45 * time.Second, GraceSet: true, GraceLine: 22,
		PreStop: []Hook{
			{Container: "worker", Kind: ExecHook, Command: "/bin/sh -c sleep 5; kill -QUIT 1",
				Duration: 5 * time.Second, Known: true, AtLeast: true, Line: 28},
			{Container: "proxy", Kind: SleepHook, Duration: 15 * time.Second, Known: true, Line: 40},
		},
		PreStopDuration: 5 * time.Second,
		StopSignal:      "SIGQUIT",
		MinReadySeconds: 5, ProgressDeadlineSeconds: 120,
		ReadinessDelay: 10 * time.Second,
		Containers:     []string{"worker", "proxy"},
		RestartPolicy:  "Always",
		Processes: []Process{
			{Name: "worker", Probes: []Probe{
				{Kind: "readinessProbe", Target: "httpGet :8080/ready", Line: 34},
				{Kind: "startupProbe", Target: "httpGet :8080/up", Line: 31},
			}},
			{Name: "proxy"},
		},
		Lines: map[string]int{
			"replicas": 8, "minReadySeconds": 9, "progressDeadlineSeconds": 10, "type": 12,
			"maxSurge": 14, "maxUnavailable": 15, "terminationGracePeriodSeconds": 22,
			"containers/worker/stopSignal": 27, "containers/worker/preStop": 28,
			"containers/worker/startupProbe/initialDelaySeconds":   33,
			"containers/worker/readinessProbe/initialDelaySeconds": 36,
			"containers/proxy/preStop":                             40,
			"containers/proxy/preStop/sleep/seconds":               42,
		},
		Notes: []string{
			"preStop of container worker sleeps 5s and does more; 5s assumed, at least",
			"container worker is taken for the worker, one of 2; preStop and stop signal of the others are not its own",
			"Kubernetes refuses a stopSignal unless the pod says os: {name: linux}",
			"the stop signal is SIGQUIT: simulated are workers that begin their drain at it, as those of quiesce do at SIGTERM and SIGINT alone",
			"minReadySeconds is not simulated: the rollout goes on as soon as a new worker is ready, 5s earlier",
		},
	}, w)
}

func TestStatefulSetTakesDefaults(t *testing.T) {
	w, err := Load("testdata/statefulset.yaml", "")
	require.NoError(t, err)
	assert.Equal(t, Strategy{Type: RollingUpdate, MaxUnavailable: IntOrPercent{1, false},
		Partition: 2, PodManagementPolicy: "Parallel"}, w.Strategy)
	assert.Equal(t, 4, w.Replicas)
	assert.Equal(t, 30*time.Second, w.Grace)
	assert.False(t, w.GraceSet)
	assert.Equal(t, []string{
		"terminationGracePeriodSeconds is not set; 30s assumed",
		"partition 2: pods with a lower ordinal keep the old version",
	}, w.Notes)
	assert.Equal(t, 0, w.Surge())
	assert.Equal(t, 1, w.Unavailable())
}

// deployment wraps a pod spec's lines, which begin on line 7, indented by six.
func deployment(podSpec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n" + podSpec
}

// rollout wraps the lines under spec, which begin on line 5, indented by two.
func rollout(kind, apiVersion, spec string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: d}\nspec:\n" + spec +
		"  template: {spec: {containers: [{name: c}]}}\n"
}

func TestRolloutsOfEveryKind(t *testing.T) {
	percent := func(n int) IntOrPercent { return IntOrPercent{n, true} }
	pods := func(n int) IntOrPercent { return IntOrPercent{n, false} }
	for name, c := range map[string]struct {
		text               string
		want               Strategy
		deadline           int
		surge, unavailable int
	}{
		"apps Deployment rolls with a quarter": {rollout("Deployment", "apps/v1", "  replicas: 10\n"),
			Strategy{Type: RollingUpdate, MaxSurge: percent(25), MaxUnavailable: percent(25)}, 600, 3, 2},
		"extensions Deployment rolls with one and one": {rollout("Deployment", "extensions/v1beta1", "  replicas: 10\n"),
			Strategy{Type: RollingUpdate, MaxSurge: pods(1), MaxUnavailable: pods(1)}, 0, 1, 1},
		"Recreate stops all": {rollout("Deployment", "apps/v1", "  replicas: 4\n  strategy: {type: Recreate}\n"),
			Strategy{Type: Recreate}, 600, 0, 4},
		"nothing to add and nothing to take becomes one": {rollout("Deployment", "apps/v1",
			"  replicas: 2\n  strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 25%}}\n"),
			Strategy{Type: RollingUpdate, MaxSurge: percent(0), MaxUnavailable: percent(25)}, 600, 0, 1},
		"more unavailable than replicas is all of them": {rollout("Deployment", "apps/v1",
			"  replicas: 3\n  strategy: {rollingUpdate: {maxUnavailable: 10}}\n"),
			Strategy{Type: RollingUpdate, MaxSurge: percent(25), MaxUnavailable: pods(10)}, 600, 1, 3},
		"no replicas, nothing to take": {rollout("Deployment", "apps/v1", "  replicas: 0\n"),
			Strategy{Type: RollingUpdate, MaxSurge: percent(25), MaxUnavailable: percent(25)}, 600, 0, 0},
		"apps/v1beta1 StatefulSet waits for deletion": {rollout("StatefulSet", "apps/v1beta1", ""),
			Strategy{Type: OnDelete, PodManagementPolicy: "OrderedReady"}, 0, 0, 0},
		"StatefulSet rounds down, to at least one": {rollout("StatefulSet", "apps/v1",
			"  replicas: 5\n  updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}\n"),
			Strategy{Type: RollingUpdate, MaxUnavailable: percent(10), PodManagementPolicy: "OrderedReady"}, 0, 0, 1},
		"DaemonSet takes one": {rollout("DaemonSet", "apps/v1", ""),
			Strategy{Type: RollingUpdate, MaxUnavailable: pods(1)}, 0, 0, 1},
		"DaemonSet may surge instead": {rollout("DaemonSet", "apps/v1",
			"  updateStrategy: {rollingUpdate: {maxSurge: 30%, maxUnavailable: 0}}\n"),
			Strategy{Type: RollingUpdate, MaxSurge: percent(30), MaxUnavailable: pods(0)}, 0, 1, 0},
		"extensions DaemonSet waits for deletion": {rollout("DaemonSet", "extensions/v1beta1", ""),
			Strategy{Type: OnDelete}, 0, 0, 0},
		"ReplicaSet replaces nothing": {rollout("ReplicaSet", "apps/v1", "  replicas: 2\n"),
			Strategy{Type: OnDelete}, 0, 0, 0},
		"ReplicationController replaces nothing": {rollout("ReplicationController", "v1", "  replicas: 2\n"),
			Strategy{Type: OnDelete}, 0, 0, 0},
		"Pod is made anew": {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: p-}\nspec: {containers: [{name: c}]}\n",
			Strategy{Type: Recreate}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte(c.text), "")
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Strategy)
			assert.Equal(t, c.deadline, w.ProgressDeadlineSeconds)
			assert.Equal(t, c.surge, w.Surge(), "surge")
			assert.Equal(t, c.unavailable, w.Unavailable(), "unavailable")
		})
	}
}

func TestNotesTellWhatWillSurprise(t *testing.T) {
	for name, c := range map[string]struct{ text, note string }{
		"grace 0 is legal": {deployment("      terminationGracePeriodSeconds: 0\n      containers: [{name: c}]\n"),
			"terminationGracePeriodSeconds is 0: pods are killed at once, with no time to shut down"},
		"preStop as long as the grace": {deployment("      containers:\n      - name: c\n        lifecycle: {preStop: {exec: {command: [sleep, '30']}}}\n"),
			"preStop sleeps 30s, the grace is 30s: no time is left after it; raise terminationGracePeriodSeconds above 30"},
		"a command nobody can foretell": {deployment("      containers:\n      - name: c\n        lifecycle: {preStop: {exec: {command: [./drain]}}}\n"),
			"preStop of container c runs a command of unknown length; 0s assumed"},
		"a request": {deployment("      containers:\n      - name: c\n        lifecycle: {preStop: {httpGet: {port: 80}}}\n"),
			"preStop of container c is a request (httpGet) of unknown length; 0s assumed"},
		"grace beside the template": {rollout("Deployment", "apps/v1", "  terminationGracePeriodSeconds: 60\n"),
			"terminationGracePeriodSeconds on line 5 stands outside the pod spec and is ignored"},
		"grace in a container": {deployment("      containers:\n      - name: c\n        terminationGracePeriodSeconds: 60\n"),
			"terminationGracePeriodSeconds on line 9 stands in container c and is ignored"},
		"the strategy of another kind": {rollout("Deployment", "apps/v1", "  updateStrategy: {type: OnDelete}\n"),
			"updateStrategy on line 5 is not a field of a Deployment and is ignored; did you mean strategy?"},
		"two stop signals": {deployment("      containers:\n      - {name: a, lifecycle: {stopSignal: SIGINT}}\n      - {name: b, lifecycle: {stopSignal: SIGRTMIN+3}}\n"),
			"container a is taken for the worker, one of 2; preStop and stop signal of the others are not its own"},
		"init containers": {deployment("      initContainers: [{name: i}]\n      containers: [{name: c}]\n"),
			"init containers run before the workers start, or beside them; their hooks and their time are not read"},
		"an old group": {rollout("Deployment", "apps/v1beta2", ""),
			"apiVersion apps/v1beta2 is no longer served since Kubernetes 1.16; its own defaults are used"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte(c.text), "")
			require.NoError(t, err)
			assert.Contains(t, w.Notes, c.note)
		})
	}
}

// "The containers in the Pod receive the TERM signal at different times", each after its own hook
// (Kubernetes, "Pod Lifecycle", Termination of Pods).
func TestAWorkerWaitsForNoHookButItsOwn(t *testing.T) {
	const (
		proxy  = "      - {name: proxy, lifecycle: {stopSignal: SIGQUIT, preStop: {sleep: {seconds: 20}}}}\n"
		worker = "      - {name: worker, lifecycle: {preStop: {sleep: {seconds: 3}}}}\n"
		told   = "      - {name: told, env: [{name: QUIESCE_GRACE, value: 25s}]}\n"
	)
	annotated := func(containers string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    metadata: {annotations: {kubectl.kubernetes.io/default-container: worker}}\n    spec:\n      containers:\n" + containers
	}
	for name, c := range map[string]struct {
		text   string
		hook   time.Duration
		signal string
	}{
		"the first container":                {deployment("      containers:\n" + worker + proxy), 3 * time.Second, ""},
		"the one that the pod names":         {annotated(proxy + worker), 3 * time.Second, ""},
		"one that the pod does not have":     {annotated(proxy), 20 * time.Second, "SIGQUIT"},
		"the one that is told its grace":     {annotated(proxy + worker + told), 0, ""},
		"of a pod that is no template's own": {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {kubectl.kubernetes.io/default-container: worker}}\nspec:\n      containers:\n" + proxy + worker, 3 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte(c.text), "")
			require.NoError(t, err)
			assert.Equal(t, c.hook, w.PreStopDuration)
			assert.Equal(t, c.signal, w.StopSignal)
		})
	}
}

func TestAJobRunsNoMorePodsThanItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want int
	}{
		"completions are fewer": {"parallelism: 10, completions: 3", 3},
		"completions are more":  {"parallelism: 10, completions: 30", 10},
		"a queue of work":       {"parallelism: 10", 10},
		"one at a time":         {"completions: 30", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {"+c.spec+", template: {spec: {restartPolicy: Never, containers: [{name: c}]}}}\n"), "")
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Replicas)
		})
	}
}

// Charts leave replicas out where an autoscaler decides.
func TestAnAutoscalerOfTheFileSaysHowManyPodsThereAre(t *testing.T) {
	const worker = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {template: {spec: {terminationGracePeriodSeconds: 40, containers: [{name: c}]}}}\n---\n"
	for name, c := range map[string]struct {
		text string
		want int
		note string
	}{
		"of Kubernetes": {worker + "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: w}}\n",
			3, "replicas is not set; the HorizontalPodAutoscaler h on line 6 keeps at least 3; 3 assumed"},
		"of KEDA, down to none": {worker + "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: h}\nspec: {scaleTargetRef: {name: w}}\n",
			1, "replicas is not set; the ScaledObject h on line 6 keeps at least 0; 1 assumed"},
		"of another workload": {worker + "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {minReplicas: 3, scaleTargetRef: {kind: StatefulSet, name: w}}\n",
			1, "replicas is not set; 1 assumed"},
		"that is wrong": {worker + "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {minReplicas: few, scaleTargetRef: {kind: Deployment, name: w}}\n",
			1, "replicas is not set; 1 assumed"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte(c.text), "")
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Replicas)
			assert.Equal(t, []string{c.note}, w.Notes)
		})
	}
}

// A HorizontalPodAutoscaler brings a written number between its bounds, and rests while it is 0
// (Kubernetes, "Horizontal Pod Autoscaling", Implicit maintenance-mode deactivation); KEDA starts
// its minimum from 0 too.
func TestAnAutoscalerCorrectsTheNumberThatIsWritten(t *testing.T) {
	const (
		hpa  = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}}\n"
		keda = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: k}\nspec: {minReplicaCount: 3, scaleTargetRef: {name: w}}\n"
	)
	for name, c := range map[string]struct {
		replicas string
		scaler   string
		want     int
		notes    []string
	}{
		"below its least":        {"1", hpa, 3, []string{"replicas is 1; the HorizontalPodAutoscaler h on line 6 keeps at least 3, which is simulated"}},
		"between":                {"5", hpa, 5, nil},
		"above its most":         {"12", hpa, 9, []string{"replicas is 12; the HorizontalPodAutoscaler h on line 6 keeps at most 9, which is simulated"}},
		"none":                   {"0", hpa, 0, []string{"replicas is 0, and the HorizontalPodAutoscaler h on line 6 rests"}},
		"below its least, KEDA":  {"1", keda, 3, []string{"replicas is 1; the ScaledObject k on line 6 keeps at least 3, which is simulated"}},
		"none, KEDA":             {"0", keda, 3, []string{"replicas is 0; the ScaledObject k on line 6 keeps at least 3, which is simulated"}},
		"above its own, KEDA":    {"120", keda, 100, []string{"replicas is 120; the ScaledObject k on line 6 keeps at most 100, which is simulated"}},
		"no most is written":     {"12", strings.Replace(hpa, "maxReplicas: 9, ", "", 1), 12, nil},
		"a most that is no most": {"2", strings.Replace(hpa, "maxReplicas: 9, ", "maxReplicas: 1, ", 1), 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec: {replicas: "+c.replicas+", template: {spec: {terminationGracePeriodSeconds: 40, containers: [{name: c}]}}}\n---\n"+c.scaler), "")
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Replicas)
			assert.Equal(t, c.notes, w.Notes)
		})
	}
}

// scaleTargetRef has no namespace: it means that of the autoscaler.
func TestAnAutoscalerScalesWhatItsNamespaceHas(t *testing.T) {
	for name, c := range map[string]struct {
		workload, scaler, target string
		want                     int
	}{
		"neither says":                     {"", "", "apps/v1", 3},
		"both say the same":                {"prod", "prod", "apps/v1", 3},
		"the workload says the default":    {"default", "", "apps/v1", 3},
		"the autoscaler says the default":  {"", "default", "apps/v1", 3},
		"another one":                      {"prod", "staging", "apps/v1", 1},
		"the default, and another one":     {"", "prod", "apps/v1", 1},
		"another one, and the default":     {"prod", "", "apps/v1", 1},
		"a kind of the same name":          {"", "", "apps.kruise.io/v1", 1},
		"a target that says no apiVersion": {"", "", "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.yaml", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w, namespace: '"+c.workload+"'}\nspec: {template: {spec: {containers: [{name: c}]}}}\n---\n"+
				"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h, namespace: '"+c.scaler+"'}\nspec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {apiVersion: '"+c.target+"', kind: Deployment, name: w}}\n"), "")
			require.NoError(t, err)
			assert.Equal(t, c.want, w.Replicas)
		})
	}
}

func TestNullIsTheSameAsNotWritten(t *testing.T) {
	w, err := Parse("f.yaml", []byte(rollout("Deployment", "apps/v1", "  replicas:\n  strategy: ~\n")), "")
	require.NoError(t, err)
	assert.Equal(t, 1, w.Replicas)
	assert.Empty(t, w.Lines)
}
