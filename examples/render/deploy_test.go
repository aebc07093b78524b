package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/quiesce/quiesce/realworld"
)

// Manifests name flags, folders, ports, paths and commands of this program; here they meet it.

// resting is a worker that does not run.
type resting struct{}

func (resting) Ready() bool                  { return false }
func (resting) SecondsLeft() (float64, bool) { return 0, true }
func (resting) Status() int                  { return 0 }

// probed reports whether the worker answers a path that a platform asks for.
func probed(t *testing.T, path string) bool {
	t.Helper()
	stops := realworld.NewStops()
	defer stops.Close()
	rec := httptest.NewRecorder()
	realworld.Probes(resting{}, stops).ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
	return rec.Code != http.StatusNotFound
}

// folders are where a worker keeps what outlives it, when it is started in a directory.
func folders(t *testing.T, in string, args ...string) []string {
	t.Helper()
	c, rest, err := parse("work", args)
	require.NoError(t, err)
	require.Empty(t, rest)
	return []string{path.Join(in, c.state), path.Join(in, c.out)}
}

// container is what the Dockerfile says of the container.
func container(t *testing.T) (workdir string, entrypoint []string) {
	t.Helper()
	text, err := os.ReadFile("deploy/Dockerfile")
	require.NoError(t, err)
	final := string(text[bytes.LastIndex(text, []byte("\nFROM ")):])
	workdir = regexp.MustCompile(`(?m)^WORKDIR (.*)$`).FindStringSubmatch(final)[1]
	list := regexp.MustCompile(`(?m)^ENTRYPOINT (.*)$`).FindStringSubmatch(final)[1]
	require.NoError(t, yaml.Unmarshal([]byte(list), &entrypoint), "a shell in between would swallow SIGTERM")
	return workdir, entrypoint
}

func TestTheContainerStartsTheWorkerUnderItsGuard(t *testing.T) {
	_, entrypoint := container(t)
	assert.Equal(t, []string{"simulate", "guard", "--", "render"}, []string{path.Base(entrypoint[0]), entrypoint[1], entrypoint[2], path.Base(entrypoint[3])})
	assert.Len(t, entrypoint, 4, "what follows are the flags of the manifest")
}

// object is what is read here of kubernetes.yaml, beside what package manifest reads.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Rules    []struct{ Resources, Verbs []string }
	RoleRef  struct{ Kind, Name string } `yaml:"roleRef"`
	Subjects []struct{ Kind, Name string }
	Spec     struct {
		Template struct {
			Metadata struct{ Annotations map[string]string }
			Spec     pod
		}
	}
}

type pod struct {
	ServiceAccount string `yaml:"serviceAccountName"`
	Containers     []struct {
		Args      []string
		Lifecycle struct {
			PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
		}
		Ports []struct {
			Name   string
			Number string `yaml:"containerPort"`
		}
		Readiness probe `yaml:"readinessProbe"`
		Liveness  probe `yaml:"livenessProbe"`
		Mounts    []struct {
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
}

type probe struct {
	Get     struct{ Path, Port string } `yaml:"httpGet"`
	Timeout int                         `yaml:"timeoutSeconds"`
}

func objects(t *testing.T) map[string]object {
	t.Helper()
	text, err := os.ReadFile("deploy/kubernetes.yaml")
	require.NoError(t, err)
	all := map[string]object{}
	for from := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := from.Decode(&o); errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all[o.Kind] = o
	}
}

func TestThePodAgreesWithTheProgram(t *testing.T) {
	all := objects(t)
	template := all["Deployment"].Spec.Template
	require.Len(t, template.Spec.Containers, 1)
	main := template.Spec.Containers[0]
	c, rest, err := parse("work", main.Args)
	require.NoError(t, err)
	assert.Empty(t, rest)
	assert.Equal(t, "/dev/termination-log", c.lastWords, "where Kubernetes looks unless it is told")

	_, port, err := net.SplitHostPort(c.listen)
	require.NoError(t, err)
	assert.Equal(t, port, main.Ports[0].Number)
	assert.Equal(t, port, template.Metadata.Annotations["prometheus.io/port"])
	for _, p := range []probe{main.Readiness, main.Liveness} {
		assert.True(t, probed(t, p.Get.Path), p.Get.Path)
		assert.Equal(t, main.Ports[0].Name, p.Get.Port)
	}
	assert.Greater(t, main.Liveness.Timeout, 5, "a worker takes five seconds to say that its loop does not turn")

	hook := main.Lifecycle.PreStop.Exec.Command
	require.Len(t, hook, 2)
	_, entrypoint := container(t)
	assert.Equal(t, path.Base(entrypoint[len(entrypoint)-1]), hook[0])
	asks, _, err := parse(hook[1], hook[2:])
	require.NoError(t, err)
	assert.Equal(t, c.endpoint(), asks.endpoint(), "the hook asks the worker next door")

	workdir, _ := container(t)
	var mounts []string
	for _, m := range main.Mounts {
		mounts = append(mounts, m.Path)
	}
	assert.ElementsMatch(t, folders(t, workdir, main.Args...), mounts)

	// The worker asks when its pod ends.
	account := template.Spec.ServiceAccount
	assert.Equal(t, account, all["ServiceAccount"].Metadata.Name)
	assert.Equal(t, account, all["RoleBinding"].Subjects[0].Name)
	assert.Equal(t, all["Role"].Metadata.Name, all["RoleBinding"].RoleRef.Name)
	assert.Equal(t, []string{"pods"}, all["Role"].Rules[0].Resources)
	assert.Contains(t, all["Role"].Rules[0].Verbs, "get")
}

func TestTheComposeFileAgreesWithTheProgram(t *testing.T) {
	text, err := os.ReadFile("deploy/compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Command     []string
			Environment map[string]string
			Volumes     []string
		}
		Volumes map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	s := file.Services["render"]
	dockerfile := filepath.Join("deploy", s.Build.Context, s.Build.Dockerfile)
	assert.FileExists(t, dockerfile)
	assert.Contains(t, file.Services, strings.TrimSuffix(strings.TrimPrefix(s.Environment["QUIESCE_REDIS"], "redis://"), ":6379"))

	workdir, _ := container(t)
	var mounts []string
	for _, v := range s.Volumes {
		if name, at, named := strings.Cut(v, ":"); named {
			assert.Contains(t, file.Volumes, name)
			v = at
		}
		mounts = append(mounts, v)
	}
	assert.ElementsMatch(t, folders(t, workdir, s.Command...), mounts)
}

func TestTheUnitAgreesWithTheProgram(t *testing.T) {
	text, err := os.ReadFile("deploy/render.service")
	require.NoError(t, err)
	keys := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			keys[key] = value
		}
	}
	command := strings.Fields(keys["ExecStart"])
	_, rest, err := parse("work", command[1:])
	require.NoError(t, err)
	assert.Empty(t, rest)
	assert.Equal(t, "notify", keys["Type"], "the worker tells when it is ready")
	assert.Equal(t, "mixed", keys["KillMode"], "SIGTERM is for the worker, which ends its children")
	assert.Equal(t, "/var/lib/"+keys["StateDirectory"], keys["WorkingDirectory"])
	for _, folder := range folders(t, keys["WorkingDirectory"], command[1:]...) {
		assert.True(t, strings.HasPrefix(folder, keys["WorkingDirectory"]+"/"), "%s is not the unit's to write", folder)
	}
	watchdog, err := time.ParseDuration(keys["WatchdogSec"])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, watchdog, 10*time.Second)

	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed, so nobody has looked for keys that systemd does not know")
	}
	unit := filepath.Join(t.TempDir(), "render.service")
	require.NoError(t, os.WriteFile(unit, bytes.ReplaceAll(text, []byte(command[0]), []byte("/bin/true")), 0o600))
	out, err := exec.Command(verify, "verify", "--man=no", unit).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), "render.service:", "a key that systemd does not know")
}
