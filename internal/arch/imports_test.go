package arch

import (
	"go/build"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/arch/module"
)

// Arrows point towards protocol. The simulator and the real world do not know each other:
// both drive the same machine, and meet only in tests.
var table = []row{
	{
		pkg: "protocol", ours: []string{"internal/deviation"},
		why: "the machine knows nobody; whoever needs it hands it events and carries out its effects",
	},
	{
		pkg: "protocol/worker", ours: []string{"internal/crew", "internal/grace", "protocol"}, others: []string{"github.com/google/uuid"},
		why: "people embed the worker: each further import is one more in their binaries",
	},
	{
		pkg: "protocol/worker/handlertest", ours: []string{"protocol", "protocol/worker"},
		why: "it rehearses handlers without a broker, so that testing one costs no dependency",
	},
	{
		pkg: "internal/crew",
		why: "goroutines that are used again, for those who call a server thousands of times a second",
	},
	{
		pkg: "internal/deviation",
		why: "a deviation is one bit; the rule that reads it says what it means",
	},
	{
		pkg: "internal/prefetch",
		why: "an instruction of the processor, under a name",
	},
	{
		pkg: "model", ours: []string{"internal/deviation", "internal/prefetch", "model/dist", "protocol"},
		why: "the world in miniature is made of the protocol's values and nothing else",
	},
	{
		pkg: "model/dist",
		why: "distributions are tables of integers, of use to anybody",
	},
	{
		pkg: "model/offered", ours: []string{"model", "protocol"},
		why: "what is asked of a fleet is a number for people and for estimates, and the model has none that are not whole",
	},
	{
		pkg: "model/meter", ours: []string{"model", "protocol"}, others: []string{"github.com/HdrHistogram/hdrhistogram-go"},
		why: "the lab and real fleets are measured by the same code, so it depends on neither",
	},
	{
		pkg: "model/memory", ours: []string{"internal/deviation", "model", "protocol", "protocol/worker"},
		why: "the reference broker behind the worker's port, for tests of workers and of handlers",
	},
	{
		pkg: "model/brokertest", ours: []string{"model", "model/memory", "protocol", "protocol/worker"},
		others: []string{"github.com/google/uuid", "github.com/stretchr/testify", "pgregory.net/rapid"},
		why:    "the kit compares any broker with the reference broker, and brings no other along",
	},
	{
		pkg: "sim", ours: []string{"internal/prefetch", "model", "model/dist", "model/meter", "protocol", "sim/agenda", "sim/invariant"},
		why: "the core of the simulator runs the model; files, statistics and the real world are above or beside it",
	},
	{
		pkg: "sim/invariant", ours: []string{"model", "protocol"},
		why: "it watches any host of the machine and the broker from outside, so it knows none",
	},
	{
		pkg: "sim/agenda", ours: []string{"internal/prefetch", "protocol"},
		why: "what is to happen by when, whatever it is",
	},
	{
		pkg: "sim/explore", ours: []string{"internal/deviation", "internal/prefetch", "model", "protocol", "sim/invariant"},
		why: "the explorer drives the machine and the reference broker itself, in every order, and calls what breaks by the names of runs",
	},
	{
		pkg: "sim/hunt", ours: []string{"model", "model/dist", "model/meter", "protocol", "sim", "sim/invariant"},
		why: "the hunt runs worlds of the simulator; a mutant is one of the model's by name",
	},
	{
		pkg: "sim/lab", ours: []string{"model", "model/dist", "model/meter", "model/offered", "protocol", "sim"}, others: []string{"gonum.org/v1/gonum"},
		why: "the lab makes statistics of replications; what they are of is said in plain values",
	},
	{
		pkg: "sim/advice", ours: []string{"model", "model/meter", "protocol", "sim/lab"},
		why: "it asks the lab about changed worlds; what files say of them, and what to write into them, is said by who asks",
	},
	{
		pkg: "scenarios", ours: []string{"internal/excerpt", "internal/spelling", "model", "model/dist", "model/offered", "protocol", "scenarios/manifest", "scenarios/trace"},
		others: []string{"go.yaml.in/yaml/v3"},
		why:    "a scenario is read into plain values of the model; running it is somebody else's",
	},
	{
		pkg: "scenarios/manifest", ours: []string{"internal/excerpt", "internal/grace", "internal/spelling", "model", "protocol"}, others: []string{"go.yaml.in/yaml/v3"},
		why: "manifests are read from the YAML syntax tree into structs of their own",
	},
	{
		pkg: "scenarios/manifest/lint", ours: []string{"internal/grace", "model", "protocol", "scenarios/manifest"},
		why: "it judges what the readers found, by the budget of the protocol and the habits of the model",
	},
	{
		pkg: "scenarios/trace",
		why: "a trace is rows of instants and lengths, whoever reads them",
	},
	{
		pkg: "realworld", ours: []string{"internal/grace", "protocol", "protocol/worker", "realworld/internal/kin"},
		others: []string{"github.com/coreos/go-systemd/v22", "github.com/google/uuid"},
		why:    "signals, probes and seats of any worker; what starts processes is beside it",
	},
	{
		pkg: "realworld/proc", ours: []string{"realworld/internal/kin", "realworld/internal/tree"},
		why: "a child needs a context and a scope, and nothing of who gives them",
	},
	{
		pkg: "realworld/guard", ours: []string{"protocol", "protocol/worker", "realworld/internal/tree"},
		why: "a guard knows processes; which broker there is says the command",
	},
	{
		pkg: "realworld/internal/kin",
		why: "files that children hold, whoever opened them",
	},
	{
		pkg: "realworld/internal/printing", ours: []string{"protocol", "protocol/worker"},
		why: "a broker for tests of other processes, which read what it prints",
	},
	{
		pkg: "realworld/internal/shelf", ours: []string{"protocol", "protocol/worker"},
		why: "a broker for tests of what looks on at a worker",
	},
	{
		pkg: "realworld/internal/tree", others: []string{"golang.org/x/sys"},
		why: "processes and their descendants, whatever they do",
	},
	{
		pkg: "realworld/redis", ours: []string{"internal/crew", "protocol", "protocol/worker"}, others: []string{"github.com/redis/rueidis"},
		why: "the broker is a port of the worker; whoever does not use Redis does not link its client",
	},
	{
		pkg: "realworld/record", ours: []string{"protocol", "protocol/worker"},
		why: "the recorder looks on at a worker, and a replay needs nothing but the machine",
	},
	{
		pkg: "realworld/redis/local", ours: []string{"internal/launch"}, others: []string{"github.com/gofrs/flock"},
		why: "to start a server takes no client of it, and a lock to tell what the dead have left",
	},
	{
		pkg: "realworld/metrics", ours: []string{"protocol", "protocol/worker"}, others: []string{"github.com/prometheus/client_golang"},
		why: "metrics look on at a worker; whoever has no Prometheus does not link its client",
	},
	{
		pkg: "realworld/fleet", ours: []string{"model", "model/meter", "protocol", "protocol/worker", "realworld", "realworld/redis"},
		others: []string{"github.com/google/uuid", "github.com/redis/rueidis"},
		why:    "a local fleet is stopped by the model's supervisors and rollouts and measured by its meter; what chance has in store is handed in, so that it needs no simulator",
	},
	{
		pkg: "plots", others: []string{"golang.org/x/image", "gonum.org/v1/plot"},
		why: "plain rows go in, pictures come out; whoever measured them is somebody else",
	},
	{
		pkg: "plots/chronicle",
		why: "spans and marks go in, a trace or a page comes out; whoever saw them is somebody else",
	},
	{
		pkg: "findings",
		why: "what simulate hunt found, as tests; nothing is built from it",
	},
	{
		pkg: "examples/render", ours: []string{"protocol", "protocol/worker", "realworld", "realworld/guard", "realworld/metrics", "realworld/proc", "realworld/record", "realworld/redis"},
		others: []string{"github.com/prometheus/client_golang"},
		why:    "an example shows what a stranger's worker needs, and that is the real world and nothing of the lab",
	},
	{pkg: "cmd/simulate", any: true},
	{pkg: "cmd/bench", any: true},
	{
		pkg: "internal/arch",
		why: "it looks at the others from outside",
	},
	{
		pkg: "internal/arch/determinism",
		why: "it runs the command as people do",
	},
	{pkg: "internal/arch/fuzz", any: true},
	{
		pkg: "internal/arch/module",
		why: "it only finds the module",
	},
	{
		pkg: "internal/embedder",
		why: "it builds its stub in a module of its own",
	},
	{
		pkg: "internal/excerpt",
		why: "it shows a line of text, whoever refused it",
	},
	{
		pkg: "internal/grace",
		why: "a variable's name and syntax, for who reads it and for who checks manifests",
	},
	{
		pkg: "internal/launch",
		why: "it starts a command, whoever needs it",
	},
	{
		pkg: "internal/realdata",
		why: "it only finds a folder, for tests",
	},
	{
		pkg: "internal/spelling",
		why: "it compares words, whoever misspelt them",
	},
	{
		pkg: "internal/wire",
		why: "it passes bytes on, or does not",
	},
}

// rules are what must never be reached, directly or not, with the reason.
var rules = []rule{
	{
		from: []string{"..."}, to: []string{"cmd/..."},
		why: "commands are flags, wiring and printing; what others need moves into a package",
	},
	{
		from: []string{"sim/...", "model/...", "protocol/..."}, to: []string{"scenarios/..."},
		why: "worlds are built from plain values, so that a test needs no file",
	},
	{
		from: []string{"scenarios/...", "model/...", "protocol/..."}, to: []string{"sim/..."},
		why: "reading a scenario must not depend on who runs it",
	},
	{
		from: []string{"sim/...", "scenarios/...", "model/..."}, except: []string{"model/brokertest", "model/memory"},
		to:  []string{"realworld/...", "protocol/worker"},
		why: "the lab drives the machine itself, in virtual time; it meets the real world only in tests, and those of brokers and handlers speak the worker's port",
	},
	{
		from: []string{"realworld/...", "protocol/..."}, to: []string{"sim/..."},
		why: "a worker in production carries no simulator",
	},
	{
		from: []string{"realworld/...", "protocol/..."}, except: []string{"realworld/fleet"}, to: []string{"model/..."},
		why: "the model imitates the world; only the fleet uses its supervisors and rollouts",
	},
	{
		from: []string{"protocol/worker", "realworld/...", "scenarios/...", "plots"}, to: []string{"internal/deviation"}, direct: true,
		why: "nobody can ask for a deviation by an option; presets of foreign queues take theirs from the model",
	},
	{
		from: []string{"protocol", "model/...", "sim/..."}, except: []string{"model/meter"},
		to:     []string{"github.com/HdrHistogram/hdrhistogram-go"},
		direct: true,
		why:    "numbers become histograms in the meter, and nowhere else",
	},
	{
		from: []string{"protocol", "model/...", "sim", "sim/explore", "sim/hunt", "scenarios/..."}, to: []string{"gonum.org/v1/gonum"},
		why: "statistics are floats; they are made once, in the lab, of sorted rows",
	},
	{
		from: []string{"..."}, except: []string{"plots", "cmd/..."}, to: []string{"gonum.org/v1/plot"},
		why: "fonts and pictures are for who draws",
	},
	{
		from: []string{"..."}, except: []string{"scenarios/...", "cmd/..."}, to: []string{"go.yaml.in/yaml/v3"},
		why: "only the loaders know what a file looks like",
	},
	{
		from: []string{"..."}, except: []string{"cmd/..."},
		to:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/schollz/progressbar/v3", "golang.org/x/term"},
		why: "only commands talk to a terminal",
	},
	{
		from: []string{"..."}, except: []string{"model/brokertest"},
		to:  []string{"github.com/stretchr/testify", "pgregory.net/rapid", "github.com/cockroachdb/datadriven", "go.uber.org/goleak"},
		why: "what tests need must not end up in anybody's binary",
	},
	{
		from: []string{"..."}, except: []string{"cmd/...", "realworld/..."}, to: []string{"os/signal"}, direct: true,
		why: "signals arrive through the Signals port",
	},
	{
		from: []string{"..."}, except: []string{"cmd/...", "examples/...", "internal/wire", "realworld/..."}, to: []string{"net", "net/http"}, direct: true,
		why: "what goes over a wire is the real world's",
	},
	{
		from: []string{"..."}, except: []string{"realworld/...", "internal/arch/fuzz", "internal/launch", "cmd/bench"}, to: []string{"os/exec"}, direct: true,
		why: "child processes belong under the shim of realworld/proc, or survive their parent; the bench kills workers on purpose, and the shim would tidy up after them",
	},
	{
		from: []string{"..."}, except: []string{"realworld/redis"}, to: []string{"math/rand", "math/rand/v2"}, direct: true,
		why: "random numbers are addressed (sim.Draw), so that one more draw does not shift the others; when a lost server is looked for again is no run's",
	},
}

func TestImports(t *testing.T) {
	all := goList(t, "./...")
	g := newGraph(all)
	for _, complaint := range g.edges(table) {
		t.Error(complaint)
	}
	for _, complaint := range g.broken(rules, exists(t)) {
		t.Error(complaint)
	}
}

// exists tells packages of the table, required modules and the standard library from names
// that mean nothing. Packages of the table are there, or planned: edges sees to it.
func exists(t *testing.T) func(name string) bool {
	gomod, err := os.ReadFile(filepath.Join(module.Root(t), "go.mod"))
	require.NoError(t, err)
	return func(name string) bool {
		if slices.ContainsFunc(table, func(r row) bool { return match([]string{name}, r.pkg) }) {
			return true
		}
		if strings.Contains(name, ".") {
			return strings.Contains(string(gomod), "\t"+name+" v")
		}
		p, err := build.Import(name, "", build.FindOnly)
		return err == nil && p.Goroot
	}
}

// The check itself is seen to fail: each complaint once.
func TestImportsComplain(t *testing.T) {
	g := graph{
		"core":      {"fmt"},
		"lab":       {"core", "example.org/stats", "os/signal"},
		"cmd/tool":  {"lab"},
		"newcomer":  {"core"},
		"arrived":   nil,
		"listening": {"os/signal"},
	}
	assert.Equal(t, []string{
		"gone does not exist any more: remove its row, or mark it as future",
		"arrived exists now: make its row exact and remove the mark",
		"core does not import example.org/old any more: remove it from its row",
		"lab imports example.org/stats: no floats",
		"newcomer has no row: say what it may import, and why no more",
	}, g.edges([]row{
		{pkg: "core", others: []string{"example.org/old"}},
		{pkg: "lab", ours: []string{"core"}, why: "no floats"},
		{pkg: "gone"},
		{pkg: "arrived", future: true},
		{pkg: "planned", ours: []string{"core"}, future: true},
		{pkg: "listening"},
		{pkg: "cmd/tool", any: true},
	}))

	known := func(name string) bool { return name != "nobody" }
	assert.Equal(t, []string{
		"cmd/tool imports lab imports example.org/stats: by way of others",
		"lab imports example.org/stats: by way of others",
		`the rule "gone" names nobody, which does not exist`,
		"lab imports os/signal: a port",
	}, g.broken([]rule{
		{from: []string{"..."}, to: []string{"example.org/stats"}, why: "by way of others"},
		{from: []string{"core", "cmd/..."}, to: []string{"nobody"}, why: "gone"},
		{from: []string{"..."}, except: []string{"listening"}, to: []string{"os/signal"}, direct: true, why: "a port"},
		{from: []string{"cmd/..."}, to: []string{"core"}, direct: true, why: "not its own import"},
	}, known))
}
