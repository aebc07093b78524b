package manifest

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelectorPicksOneOfSeveral(t *testing.T) {
	for selector, want := range map[string]string{
		"deployment/web":  "Deployment/web at 9",
		"DEPLOYMENT/web":  "Deployment/web at 9",
		"worker":          "Deployment/worker at 24",
		"cronjob/nightly": "CronJob/nightly at 36",
	} {
		w, err := Load("testdata/fleet.yaml", selector)
		require.NoError(t, err, selector)
		assert.Equal(t, want, w.Kind+"/"+w.Name+" at "+itoa(w.Line), selector)
	}
}

func itoa(n int) string { return IntOrPercent{Value: n}.String() }

func TestSelectorsThatPickNothing(t *testing.T) {
	data, err := os.ReadFile("testdata/fleet.yaml")
	require.NoError(t, err)
	const all = "deployment/web (line 9), deployment/worker (line 24), cronjob/nightly (line 36)"
	for selector, want := range map[string]string{
		"":                 "holds 3 workloads: " + all + "; choose one: --select deployment/web",
		"deployment/wrker": `holds no workload "deployment/wrker", only ` + all + "; did you mean --select deployment/worker?",
		"wroker":           `holds no workload "wroker", only ` + all + "; did you mean --select deployment/worker?",
		"job/nightly":      `holds no workload "job/nightly", only ` + all + "; did you mean --select cronjob/nightly?",
		"post/web":         `holds no workload "post/web", only ` + all + "; did you mean --select deployment/web?",
		"zebra":            `holds no workload "zebra", only ` + all + "; choose one of these",
		"a/b/c/d":          `holds no workload "a/b/c/d", only ` + all + "; choose one of these",
		"Web":              `holds no workload "Web", only ` + all + "; did you mean --select deployment/web?",
	} {
		_, _, message := refusal(t, string(data), selector)
		assert.Equal(t, want, message)
	}
}

func pod(namespace string) string {
	return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: " + namespace + "}\nspec: {containers: [{name: c}]}\n"
}

func TestNamespacesTellNamesakesApart(t *testing.T) {
	text := pod("north") + pod("south")
	_, _, message := refusal(t, text, "pod/p")
	assert.Equal(t, `holds 2 workloads that match "pod/p": north/pod/p (line 2), south/pod/p (line 7); choose one: --select north/pod/p`, message)
	w, err := Parse("f.yaml", []byte(text), "south/pod/p")
	require.NoError(t, err)
	assert.Equal(t, 7, w.Line)

	_, _, message = refusal(t, pod("north")+pod("north"), "")
	assert.Equal(t, "holds 2 workloads: north/pod/p (line 2), north/pod/p (line 7); give them different names, or cut one out into a file of its own", message)
}

func TestListReadsEveryWorkload(t *testing.T) {
	data, err := os.ReadFile("testdata/fleet.yaml")
	require.NoError(t, err)
	all, err := List("f.yaml", data)
	require.NoError(t, err)
	var got []string
	for _, w := range all {
		got = append(got, w.Kind+"/"+w.Name+" "+w.Grace.String()+" "+itoa(w.Replicas))
	}
	assert.Equal(t, []string{"Deployment/web 20s 1", "Deployment/worker 1m30s 3", "CronJob/nightly 30s 2"}, got)
}

func TestAWrongWorkloadMattersOnlyWhenItIsRead(t *testing.T) {
	text := []byte(pod("north") + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {}\n")
	_, err := Parse("f.yaml", text, "p")
	require.NoError(t, err)
	_, err = List("f.yaml", text)
	assert.ErrorContains(t, err, "f.yaml:10:7: containers is empty")
}

// The API leaves kind and apiVersion out of the items of a list of one kind (kubectl get --raw), and
// functions of kustomize hand on a ResourceList.
func TestEveryListIsUnpacked(t *testing.T) {
	const spec = `"metadata": {"name": "w"}, "spec": {"replicas": 3, "template": {"spec": {"terminationGracePeriodSeconds": 45, "containers": [{"name": "c"}]}}}`
	for name, text := range map[string]string{
		"List":                                   `{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Deployment", "apiVersion": "apps/v1", ` + spec + `}]}`,
		"DeploymentList":                         `{"kind": "DeploymentList", "apiVersion": "apps/v1", "items": [{` + spec + `}]}`,
		"of a kind that is written all the same": `{"kind": "StatefulSetList", "apiVersion": "apps/v1", "items": [{"kind": "Deployment", "apiVersion": "apps/v1", ` + spec + `}]}`,
		"ResourceList":                           `{"kind": "ResourceList", "apiVersion": "config.kubernetes.io/v1", "items": [{"kind": "Deployment", "apiVersion": "apps/v1", ` + spec + `}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("f.json", []byte(text), "deployment/w")
			require.NoError(t, err)
			assert.Equal(t, "apps/v1", w.APIVersion)
			assert.Equal(t, 45*time.Second, w.Grace)
			assert.Equal(t, 3, w.Replicas)
		})
	}
}

func TestAListThatContainsItselfIsPassedOver(t *testing.T) {
	_, _, message := refusal(t, "kind: List\nitems: &a [*a]\n", "")
	assert.Equal(t, "holds nothing that is read here; name a file with a workload, such as a Deployment, a Compose service or a systemd unit", message)
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"worker", "wroker", 2}, {"kitten", "sitting", 3}} {
		assert.Equal(t, c.want, editDistance(c.a, c.b), "%q to %q", c.a, c.b)
	}
}
