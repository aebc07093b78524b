package metrics_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/metrics"
)

// described are the names of all metrics.
func described() []string {
	out := make(chan *prometheus.Desc, 100)
	metrics.New(metrics.Options{}).Describe(out)
	metrics.Partitions(nodes{}).Describe(out)
	close(out)
	var names []string
	for d := range out {
		names = append(names, regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1])
	}
	slices.Sort(names)
	return names
}

// mentioned are the names of metrics in a text; a histogram's parts count as the histogram.
func mentioned(text string) []string {
	names := regexp.MustCompile(`quiesce_[a-z_]+`).FindAllString(text, -1)
	for i := range names {
		names[i] = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(names[i], "")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func read(t *testing.T, path ...string) string {
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}

func TestEveryMetricIsDocumentedAndNoOther(t *testing.T) {
	assert.Len(t, described(), 22)
	text := read(t, "..", "..", "docs", "metrics.md")
	assert.Equal(t, described(), mentioned(text))
	for _, name := range described() {
		assert.Contains(t, text, "\n| `"+name+"` |", "it has a row")
	}
}

// The table says which labels a metric has, and every value that they take.
func TestEveryLabelAndItsValuesAreDocumented(t *testing.T) {
	m := metrics.New(metrics.Options{})
	newLife(m, "web-1").granted(0, 1).returned(0, protocol.ReturnedNil, true).step(protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	text := read(t, "..", "..", "docs", "metrics.md")
	row := regexp.MustCompile("(?m)^\\| `(quiesce_[a-z_]+)` \\|([^|]*)\\|(.*)\\|$")
	labels := map[string][]string{}
	for _, r := range row.FindAllStringSubmatch(text, -1) {
		labels[r[1]] = regexp.MustCompile("[a-z]+").FindAllString(r[2], -1)
	}
	all := values(t, m)
	maps.Copy(all, values(t, metrics.Partitions(nodes{"mail": {true}})))
	for series := range all {
		name, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(series, " count"), " sum"), "{")
		var keys []string
		for _, pair := range regexp.MustCompile(`(\w+)=([^,}]*)`).FindAllStringSubmatch(rest, -1) {
			keys = append(keys, pair[1])
			if !slices.Contains([]string{"kind", "status", "queue", "partition"}, pair[1]) {
				assert.Contains(t, text, "`"+pair[2]+"`", series)
			}
		}
		assert.ElementsMatch(t, labels[name], keys, name)
	}
}

// rule is an alerting rule as Prometheus reads it.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func TestAlertsAreMadeOfMetricsThatExist(t *testing.T) {
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "alerts.yaml")))
	decoder.KnownFields(true)
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, decoder.Decode(&file))
	require.Len(t, file.Groups, 1)
	seen := map[string]bool{}
	for _, r := range file.Groups[0].Rules {
		assert.False(t, seen[r.Alert], "%s is there twice", r.Alert)
		seen[r.Alert] = true
		assert.Regexp(t, `^Quiesce[A-Z][A-Za-z]+$`, r.Alert)
		assert.NotEmpty(t, mentioned(r.Expr), r.Alert)
		assert.Subset(t, described(), mentioned(r.Expr+r.Annotations["description"]), r.Alert)
		assert.Equal(t, strings.Count(r.Expr, "("), strings.Count(r.Expr, ")"), r.Alert)
		assert.NotEmpty(t, r.Labels["severity"], r.Alert)
		assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
		assert.NotEmpty(t, r.Annotations["description"], r.Alert)
	}
	assert.Len(t, seen, 11)
}

// Where Prometheus's own tool is installed it has the last word.
func TestPromtoolAcceptsTheAlerts(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; it comes with Prometheus")
	}
	out, err := exec.Command(tool, "check", "rules", "alerts.yaml").CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestTheDashboardShowsMetricsThatExist(t *testing.T) {
	text := read(t, "dashboard.json")
	var board struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &board))
	ids := map[int]bool{}
	for _, p := range board.Panels {
		assert.False(t, ids[p.ID], "panel %d is there twice", p.ID)
		ids[p.ID] = true
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			assert.NotEmpty(t, mentioned(target.Expr), p.Title)
			assert.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), p.Title)
		}
	}
	assert.Equal(t, described(), mentioned(text), "it shows every metric, and no other")
}
