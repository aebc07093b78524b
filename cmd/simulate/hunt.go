package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/sim/hunt"
	"github.com/quiesce/quiesce/sim/invariant"
)

type hunting struct {
	seeds  int
	first  uint64
	length time.Duration
	mutant string
	dir    string
	format string
	quiet  bool
}

// huntSeeds is what a hunt tries when nobody says how much: a minute on two cores.
const huntSeeds = 50_000

func (a *app) huntCommand() *cobra.Command {
	var h hunting
	cmd := &cobra.Command{
		Use:   "hunt [--for 10m | --seeds N]",
		Short: "Look for a small world in which a promise is broken",
		Long: `Look for a small world in which a promise is broken.

Each seed draws a scenario of its own: sizes, rates, policy, which faults there are, and timings
that nobody would configure. It is run with every invariant watched, and then on without faults
until every job has come to its end. The first seed that breaks something ends the hunt: what it
shows is minimised, keeping the same invariant broken, and told in a few lines. It is left in
--findings as a scenario file that simulate replay runs, with a Go test beside it.

What was found before is tried first: every scenario file in --findings.`,
		Example: `  simulate hunt
  simulate hunt --for 10m
  simulate hunt --mutant settle-unfenced
  simulate replay findings/no-stale-effect-0.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.hunt(cmd, &h) },
	}
	f := cmd.Flags()
	f.Var(manySeedsFlag(&h.seeds, huntSeeds), "seeds", "how many scenarios are drawn")
	f.Var(seedFlag(&h.first), "seed", "the first seed")
	f.Var(lengthFlag(&h.length), "for", "go on for this long instead of --seeds, for example 10m")
	f.Var(namesOfOne(&h.mutant, "mutant", model.UnsafeNames()), "mutant", "build a mistake into the protocol first: "+strings.Join(model.UnsafeNames(), ", "))
	h.dir = "findings"
	f.Var(pathFlag(&h.dir, "DIR", "folder"), "findings", "folder of what was found, tried first; new findings go there")
	f.Var(formatFlag(&h.format, asTable, asJSON), "format", "how the result is printed")
	f.BoolVar(&h.quiet, "quiet", false, "no progress bar")
	return cmd
}

func (a *app) hunt(cmd *cobra.Command, h *hunting) error {
	if cmd.Flags().Changed("for") && cmd.Flags().Changed("seeds") {
		return misuse("--seeds says how many scenarios and --for how long; give one of them")
	}
	// A finding may take hours: that it cannot be kept is better known before.
	if err := checkFolder("--findings", h.dir); err != nil {
		return err
	}
	past, err := a.pastFindings(cmd.Context(), h.dir)
	if err != nil {
		return err
	}
	plan := hunt.Plan{First: h.first, Seeds: h.seeds, Fault: h.mutant}
	ctx := cmd.Context()
	if h.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.length)
		defer cancel()
		plan.Seeds = 0
	}
	start := time.Now()
	bar := newRate(a.stderr, h.quiet, "seeds")
	most := plan.Seeds
	if most == 0 {
		most = -1 // nobody knows how many it will be
	}
	plan.Progress = func(n int64) { bar.at(int(n), most) }
	res, err := hunt.Hunt(ctx, plan)
	bar.clear()
	if err != nil {
		return err
	}
	took := time.Since(start)
	out := &huntResult{result: res, past: past, took: took}
	var unkept error
	if res.Found != nil {
		out.file, unkept = keepFinding(h.dir, res.Found)
	}
	var b bytes.Buffer
	if h.format == asJSON {
		err = writeIndented(&b, out.object())
	} else {
		out.write(&b)
	}
	if err == nil {
		err = a.show(&b)
	}
	switch {
	case err != nil:
		return err
	case unkept != nil:
		return &findingError{fmt.Sprintf("%s is broken, and the finding is not kept: %v; %s finds it again", res.Found.Scenario.Finding.Invariant, unkept, h.again(res.Found))}
	case res.Found != nil:
		return &findingError{fmt.Sprintf("%s is broken; simulate explain %s says what it hangs on", res.Found.Scenario.Finding.Invariant, quote(out.file))}
	case cmd.Context().Err() != nil:
		return &stoppedError{fmt.Sprintf("stopped after %d seeds, which broke nothing", res.Seeds)}
	}
	return nil
}

// again is the command that finds the same once more.
func (h *hunting) again(f *hunt.Found) string {
	command := fmt.Sprintf("simulate hunt --seed %d --seeds 1", f.Seed)
	if h.mutant != "" {
		command += " --mutant " + h.mutant
	}
	return command
}

// huntResult is what a hunt has to say.
type huntResult struct {
	result *hunt.Result
	past   int
	took   time.Duration
	file   string // empty when it could not be written
}

func (h *huntResult) write(b *bytes.Buffer) {
	if h.past > 0 {
		fmt.Fprintf(b, "%s of earlier hunts: as they should be\n", plural(h.past, "finding"))
	}
	rate := float64(h.result.Seeds) / max(h.took.Seconds(), 1e-9)
	f := h.result.Found
	if f == nil {
		fmt.Fprintf(b, "%s: every promise was kept (%d invariants; %s seeds/s)\n", plural(int(h.result.Seeds), "seed"), invariant.Count, commas(rate))
		return
	}
	fmt.Fprintf(b, "seed %d breaks %s, after %s (%s seeds/s); made small in %s\n\n", f.Seed, f.Scenario.Finding.Invariant, plural(int(h.result.Seeds), "seed"), commas(rate), plural(f.Runs, "run"))
	writeStory(b, f)
	fmt.Fprintf(b, "\n%s\n", f.Scenario.About)
	if h.file == "" {
		return
	}
	fmt.Fprintf(b, "Replay it with\n  simulate replay %s\n", quote(h.file))
	fmt.Fprintf(b, "A Go test that fails as long as it is broken\n  %s\n", testFile(h.file))
}

func writeStory(b *bytes.Buffer, f *hunt.Found) {
	if f.Panic != "" {
		b.WriteString(wrap("  ", "  ", f.Panic))
		return
	}
	writeLines(b, f.Story.Lines)
	writeWhat(b, f.Story)
}

func writeLines(b *bytes.Buffer, lines []hunt.Line) {
	for _, l := range lines {
		writeAt(b, l.At, l.Text)
	}
}

// writeWhat writes what a story comes to.
func writeWhat(b *bytes.Buffer, s *hunt.Story) { writeAt(b, s.At, "= "+s.What) }

func writeAt(b *bytes.Buffer, at protocol.Instant, text string) {
	b.WriteString(wrap("  "+padLeft(at.String(), 14)+"  ", strings.Repeat(" ", 18), text))
}

func (h *huntResult) object() object {
	o := object{{"seeds", h.result.Seeds}, {"past_findings", h.past}, {"found", nil}}
	if f := h.result.Found; f != nil {
		what, story := storyObjects(f.Story)
		o[2].value = object{{"invariant", f.Scenario.Finding.Invariant}, {"seed", f.Seed}, {"runs", f.Runs}, {"panic", f.Panic}, {"what", what}, {"story", story}, {"file", h.file}}
	}
	return append(o, member{"meta", object{{"wall_seconds", number(h.took.Seconds())}, {"seeds_per_second", number(float64(h.result.Seeds) / h.took.Seconds())}}})
}

// storyObjects are a story, and what it comes to; of none, nothing.
func storyObjects(s *hunt.Story) (what string, story []object) {
	story = []object{}
	if s == nil {
		return "", story
	}
	for _, l := range s.Lines {
		story = append(story, object{{"at_seconds", number(float64(l.At) / 1e9)}, {"text", l.Text}})
	}
	return s.What, story
}

// pastFindings tries every finding in a folder again, and returns how many there are. One that a
// fault of its own breaks must still break; any other must not.
func (a *app) pastFindings(ctx context.Context, dir string) (int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return 0, misuse("--findings %s: %v", dir, err)
	}
	slices.Sort(files)
	for _, file := range files {
		if ctx.Err() != nil {
			return 0, &stoppedError{"stopped while earlier findings were tried again"}
		}
		sc, id, err := loadFinding(file)
		if err != nil {
			return 0, err
		}
		o, err := hunt.Try(sc)
		var p *hunt.PanicError
		if err != nil && !errors.As(err, &p) {
			return 0, misuse("%s: %v", file, err)
		}
		broken := err != nil || len(o.Findings) > 0
		preset, _, err := sc.Under(sc.Finding.Policy)
		switch {
		case err != nil:
			return 0, misuse("%s: %v", file, err)
		case preset.Sound() && broken:
			return 0, &findingError{fmt.Sprintf("%s is broken again: simulate replay %s", id, quote(file))}
		case !preset.Sound() && !broken:
			return 0, &findingError{fmt.Sprintf("%s: a fault is built in, and nothing notices it any more; %s did", file, id)}
		}
	}
	return len(files), nil
}

// loadFinding reads a scenario that names a run, and which invariant is broken in it; that is
// its name, or panic.
func loadFinding(file string) (*model.Scenario, string, error) {
	sc, err := scenarios.Load(file)
	if err != nil {
		return nil, "", err
	}
	if sc.Finding == nil {
		return nil, "", misuse("%s names no run: it has no finding; write finding: {policy: hybrid, seed: 1, invariant: no-job-lost}", file)
	}
	if id := sc.Finding.Invariant; id != "panic" {
		if _, err := invariant.Named(id); err != nil {
			var names []string
			for _, id := range invariant.All() {
				names = append(names, id.String())
			}
			return nil, "", misuse("%s: there is no invariant %q; %s", file, id, suggest(id, names))
		}
	}
	return sc, sc.Finding.Invariant, nil
}

// keepFinding leaves a finding in a folder, as a scenario and as a test.
func keepFinding(dir string, f *hunt.Found) (string, error) {
	name := fmt.Sprintf("%s-%d", f.Scenario.Finding.Invariant, f.Seed)
	if preset, _, err := f.Scenario.Under(f.Scenario.Finding.Policy); err == nil && !preset.Sound() {
		name = fmt.Sprintf("%s-%d", f.Scenario.Finding.Policy, f.Seed)
	}
	f.Scenario.Name = name
	text, err := scenarios.Format(f.Scenario)
	if err != nil {
		return "", err
	}
	test, err := goTest(f, text)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name+".yaml")
	files := map[string]write{filepath.Base(file): bytesOf(text), filepath.Base(testFile(file)): bytesOf(test)}
	if err := saveAllIn("--findings", dir, files); err != nil {
		return "", err
	}
	return file, nil
}

func bytesOf(text []byte) write {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

func testFile(file string) string {
	return strings.TrimSuffix(file, ".yaml") + "_test.go"
}

// goTest is a Go test that fails as long as the finding is there. It stands by itself, wherever
// in this module it is put.
func goTest(f *hunt.Found, scenario []byte) ([]byte, error) {
	var words []string
	for _, w := range strings.FieldsFunc(f.Scenario.Name, func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == '+' }) {
		words = append(words, strings.ToUpper(w[:1])+w[1:])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package findings_test\n\nimport (\n\t\"testing\"\n\n\t\"github.com/quiesce/quiesce/scenarios\"\n\t\"github.com/quiesce/quiesce/sim/hunt\"\n)\n\n")
	fmt.Fprintf(&b, "// Seed %d of simulate hunt, made small:\n//\n", f.Seed)
	if f.Story == nil {
		fmt.Fprintf(&b, "//\t%s\n", strings.ReplaceAll(f.Panic, "\n", " "))
	} else {
		for _, l := range f.Story.Lines {
			fmt.Fprintf(&b, "//\t%v  %s\n", l.At, l.Text)
		}
		fmt.Fprintf(&b, "//\t%v  = %s\n", f.Story.At, f.Story.What)
	}
	fmt.Fprintf(&b, "func Test%s(t *testing.T) {\n", strings.Join(words, ""))
	fmt.Fprintf(&b, "\tsc, err := scenarios.Parse(%q, []byte(`%s`))\n", f.Scenario.Name+".yaml", scenario)
	b.WriteString("\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\to, err := hunt.Try(sc)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	b.WriteString("\tfor _, f := range o.Findings {\n\t\tt.Error(f)\n\t}\n}\n")
	return format.Source(b.Bytes())
}
