package determinism

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// Short ones of the library, and one of our own in which everything happens at once.
var scenes = []string{
	"three-minute-render",
	"pause-past-lease",
	"lost-claim-answer",
	"internal/arch/determinism/testdata/everything-at-once.yaml",
}

const emulator = "qemu-aarch64"

// TestDeterminism runs every scenario in two processes of different width, and then on
// another processor.
func TestDeterminism(t *testing.T) {
	root := module.Root(t)
	native := build(t, root)
	want := map[string]result{}
	t.Run("two processes with one and two processors", func(t *testing.T) {
		for _, s := range scenes {
			one := run(t, root, "GOMAXPROCS=1", native, s)
			two := run(t, root, "GOMAXPROCS=2", native, s)
			same(t, s, one, two)
			want[s] = one
		}
	})
	t.Run("arm64", func(t *testing.T) {
		if testing.Short() {
			t.Skip("skipped by -short: builds for arm64 and emulates it")
		}
		if runtime.GOARCH == "arm64" {
			t.Skip("this machine is arm64 itself, so there is nothing to compare it with")
		}
		qemu, err := exec.LookPath(emulator)
		if err != nil {
			t.Skipf("no %s; on Debian and Ubuntu: apt-get install qemu-user", emulator)
		}
		arm64 := build(t, root, "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
		for _, s := range scenes {
			began := time.Now()
			got := run(t, root, "", qemu, arm64, s)
			t.Logf("%s: %s, %.1f s emulated", s, got.hash, time.Since(began).Seconds())
			same(t, s, want[s], got)
		}
	})
}

// build compiles the command with changes to the environment.
func build(t *testing.T, root string, env ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "simulate")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.Command("go", "build", "-pgo=off", "-o", out, "./cmd/simulate") // as it is compiled for the tests
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "go build ./cmd/simulate %s\n%s", strings.Join(env, " "), text)
	return out
}

// result is what a run printed, but for the meta part, which is about this machine.
type result struct {
	hash string
	rest map[string]any
}

// run runs one scenario, the last of the words, with seed 1.
func run(t *testing.T, root, env string, words ...string) result {
	t.Helper()
	scene := words[len(words)-1]
	words = append(words[:len(words)-1:len(words)-1],
		"run", scene, "--policy", "hybrid", "--seed", "1", "--format", "json", "--quiet")
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = root
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", strings.Join(cmd.Args, " "), &stderr)

	var r result
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.UseNumber() // digit by digit
	require.NoError(t, dec.Decode(&r.rest), "%s", out)
	delete(r.rest, "meta")
	r.hash, _ = r.rest["trace_hash"].(string)
	require.NotEmpty(t, r.hash, "%s prints no trace_hash", scene)
	require.NotEmpty(t, r.rest["policies"], "%s prints no metrics", scene)
	return r
}

func same(t *testing.T, scene string, want, got result) {
	t.Helper()
	if !assert.Equal(t, want.hash, got.hash, "%s: the traces differ, so something that happened does", scene) {
		return
	}
	assert.Equal(t, want.rest, got.rest, "%s: the same happened, but it was measured differently", scene)
}
