package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// input is where a scenario comes from: a name, a file, or a job trace and a manifest.
type input struct {
	jobs, manifest, selector string
	columns                  trace.Map
}

func (in *input) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(pathFlag(&in.jobs, "FILE", "file"), "jobs", "a job trace (CSV, JSON, SWF, GitHub Actions, Azure Functions; may be gzipped) instead of a scenario's jobs")
	f.Var(mapFlag(&in.columns), "map", "columns of the job trace, when they have other names; see simulate import --help")
	f.Var(pathFlag(&in.manifest, "FILE", "file"), "manifest", "a manifest instead of a scenario's fleet: Kubernetes, Compose, systemd, Nomad, ECS, Fly, Cloud Run, Procfile, supervisord, Render")
	f.Var(pathFlag(&in.selector, "NAME", "workload"), "select", "kind/name of the workload, when the manifest has several")
}

// scene is a scenario that is ready to run.
type scene struct {
	*model.Scenario
	assumed []string // what real input does not say
	words   []string // the arguments that name it again
	told    *told    // what was said of it when its shards were run; nil when it is at hand
}

// told is all that a report says of a scenario, so that shards can be joined without it.
type told struct {
	Name     string      `json:"name"`
	About    string      `json:"about"`
	Duration int64       `json:"duration"` // nanoseconds
	Warmup   int64       `json:"warmup"`
	Facts    [][2]string `json:"facts"`
	Notes    []string    `json:"notes"`
	Assumed  []string    `json:"assumed"`
	Words    []string    `json:"words"`
}

func (s *scene) tell(columns []string) told {
	if s.told != nil {
		return *s.told
	}
	t := told{
		Name: s.Name, About: s.About, Duration: int64(s.Duration), Warmup: int64(s.Warmup),
		Notes: scenarios.Notes(s.Scenario), Assumed: s.assumed, Words: s.words,
	}
	for _, f := range append(describe(s.Scenario), columnsInWords(s.Scenario, columns)...) {
		t.Facts = append(t.Facts, [2]string{f.name, f.text})
	}
	return t
}

// scene returns a scenario that can be reported, but not run.
func (t *told) scene() *scene {
	sc := &model.Scenario{Name: t.Name, About: t.About, Duration: protocol.Duration(t.Duration), Warmup: protocol.Duration(t.Warmup)}
	return &scene{Scenario: sc, assumed: t.Assumed, words: t.Words, told: t}
}

// load finds the scenario that args and flags name.
func (in *input) load(cmd *cobra.Command, args []string) (*scene, error) {
	real := in.jobs != "" || in.manifest != ""
	switch {
	case cmd.Flags().Changed("jobs") && in.jobs == "", cmd.Flags().Changed("manifest") && in.manifest == "":
		return nil, misuse("--jobs and --manifest need the name of a file")
	case len(args) > 1:
		return nil, misuse("%s takes one scenario, and there are %d: %s; flags that take a value are written --flag value",
			cmd.CommandPath(), len(args), strings.Join(args, " "))
	case len(args) == 1 && real:
		return nil, misuse("there is a scenario, %s, and --jobs or --manifest as well; give either the scenario or the files", args[0])
	case in.selector != "" && in.manifest == "":
		return nil, misuse("--select %s chooses a workload of a manifest, and there is none; add --manifest FILE", in.selector)
	case !in.columns.IsZero() && in.jobs == "":
		return nil, misuse("--map %s names columns of a job trace, and there is none; add --jobs TRACE", in.columns)
	case real:
		return in.fromFiles()
	}
	name := scenarios.DefaultName
	if len(args) == 1 {
		name = args[0]
	}
	sc, err := scenarios.Load(name)
	if err != nil {
		return nil, err
	}
	return &scene{Scenario: sc, words: []string{quote(name)}}, nil
}

func (in *input) fromFiles() (*scene, error) {
	sc, assumed, err := scenarios.FromMappedInput(in.jobs, in.columns, in.manifest, in.selector)
	if err != nil {
		return nil, err
	}
	s := &scene{Scenario: sc}
	// What Notes says of the scenario in any case is not said twice.
	known := scenarios.Notes(sc)
	for _, a := range assumed {
		if !slices.Contains(known, a) {
			s.assumed = append(s.assumed, a)
		}
	}
	for _, f := range []struct{ flag, value string }{{"--jobs", in.jobs}, {"--map", in.columns.String()}, {"--manifest", in.manifest}, {"--select", in.selector}} {
		if f.value != "" {
			s.words = append(s.words, f.flag, quote(f.value))
		}
	}
	return s, nil
}

// quote makes an argument safe to paste into a shell.
func quote(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./+,:=@%", r))
	}) < 0 && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
