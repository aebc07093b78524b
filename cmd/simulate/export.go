package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/plots/chronicle"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/realworld/record"
	"github.com/quiesce/quiesce/sim"
)

// How much can be looked at: a browser lays out some ten thousand boxes in a second, and
// Perfetto takes traces of some hundred megabytes.
const (
	mostOnPage  = 25_000
	mostInTrace = 500_000
)

// export is a run in files to look at, beside what is printed.
type export struct{ perfetto, html string }

func (e *export) asked() bool { return e.perfetto != "" || e.html != "" }

// most is how many spans the files may have.
func (e *export) most() int {
	if e.html != "" {
		return mostOnPage
	}
	return mostInTrace
}

// tooMuch says what to leave out.
func (e *export) tooMuch(at protocol.Instant) error {
	if e.html != "" {
		return misuse("--html %s: by %s there is more than a page can show (%s spans); cut it with --from and --until or --worker", e.html, clock(at), commas(mostOnPage))
	}
	return misuse("--perfetto %s: by %s there is more than can be looked at (%s spans); cut it with --from and --until or --worker", e.perfetto, clock(at), commas(mostInTrace))
}

// check refuses what cannot be asked for together, and files that cannot be written, before
// anything is run.
func (e *export) check(cmd *cobra.Command, s *selection) error {
	for _, name := range []string{"job", "deploy"} {
		if cmd.Flags().Changed(name) {
			return misuse("--%s is a timeline in words, and --perfetto and --html show everything there is; leave it out, or cut them with --from, --until and --worker", name)
		}
	}
	if s.format != asTable {
		return misuse("--format %s is for a timeline in words; leave it out, the files have their own formats", s.format)
	}
	if e.perfetto != "" && e.perfetto == e.html {
		return misuse("--perfetto and --html name the same file, %s; give each its own", e.html)
	}
	for _, path := range []string{e.perfetto, e.html} {
		if path == "" {
			continue
		}
		if isFolder(path) {
			name := "run.json"
			if path == e.html {
				name = "run.html"
			}
			return misuse("%s is a folder; name a file in it, such as %s", path, filepath.Join(path, name))
		}
		if what := notAFile(path); what != "" {
			return misuse("%s is %s; name a file", path, what)
		}
		// What is looked at is often all that is left of an incident.
		if record.Is(path) || slices.ContainsFunc(cmd.Flags().Args(), func(arg string) bool { return sameFile(arg, path) }) {
			return misuse("%s is a recording or what would be drawn, and would be overwritten; name another file", path)
		}
		probe, err := os.CreateTemp(filepath.Dir(path), ".simulate-*")
		if err != nil {
			return fileError(path, err)
		}
		if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
			return fileError(path, err)
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

func fileError(path string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return misuse("%s cannot be written: %v; name a file in a folder that you may write into", path, err)
}

// write writes the files, each whole or not at all, and says so.
func (e *export) write(to io.Writer, c *chronicle.Chronicle) error {
	jobs := map[uint64]bool{}
	for _, t := range c.Tracks {
		for i := range t.Spans {
			if t.Spans[i].Job != 0 {
				jobs[t.Spans[i].Job] = true
			}
		}
	}
	for _, f := range []struct {
		path, how string
		write     write
	}{
		{e.perfetto, "open it at https://ui.perfetto.dev or chrome://tracing", c.WritePerfetto},
		{e.html, "open it in a browser", c.WriteHTML},
	} {
		if f.path == "" {
			continue
		}
		temporary, err := saveOne(filepath.Dir(f.path), filepath.Base(f.path), f.write)
		if err == nil {
			if err = os.Rename(temporary, f.path); err != nil {
				_ = os.Remove(temporary)
			}
		}
		if err != nil {
			return fileError(f.path, err)
		}
		if _, err := fmt.Fprintf(to, "%s: %s to %s, %s; %s\n", f.path, clock(protocol.Instant(c.From)), clock(protocol.Instant(c.Until)), plural(len(jobs), "job"), f.how); err != nil {
			return fmt.Errorf("the result cannot be written to stdout: %w", err)
		}
	}
	return nil
}

// exportWorld runs a world and draws what was asked for.
func (a *app) exportWorld(cmd *cobra.Command, scn *scene, s *selection) error {
	if err := s.export.check(cmd, s); err != nil {
		return err
	}
	n := newWorldNarrator(scn, s, s.export.most())
	at, seats := protocol.Instant(0), int32(0)
	_, err := a.simulate(cmd, scn, &s.single, func(world *sim.World) func() bool {
		world.Observe(func(o sim.Observation) {
			at, seats = o.At, max(seats, o.Seat)
			if o.At <= s.until && !n.full() {
				n.see(&o)
			}
		})
		return func() bool { return at > s.until || n.full() }
	})
	switch {
	case n.full():
		return s.export.tooMuch(at)
	case err != nil && !(errors.Is(err, sim.ErrStopped) && at > s.until):
		return err
	case s.worker > int64(seats):
		return misuse("--worker %d did nothing by then; the seats that were used are 0 to %d", s.worker, seats)
	}
	return s.export.write(a.stdout, n.finish(protocol.Instant(scn.Duration)))
}

// exportRecording draws a recording, up to the step at which the replay differs if it does.
func (a *app) exportRecording(cmd *cobra.Command, r *record.Recording, s *selection) error {
	if err := s.export.check(cmd, s); err != nil {
		return err
	}
	n := newRecordingNarrator(r, s, s.export.most())
	last := r.Segments[0].At
	result, err := r.Replay(func(step *record.Step) bool {
		if step.At > s.until || n.full() {
			return false
		}
		last = step.At
		n.see(step)
		return true
	})
	switch {
	case err != nil:
		return err
	case n.full():
		return s.export.tooMuch(last)
	case s.from > result.Until:
		return misuse("nothing happened between --from %v and --until %v; the recording has %s to %s", s.from, s.until, clock(result.From), clock(result.Until))
	}
	n.finish(last)
	if err := s.export.write(a.stdout, n.story); err != nil {
		return err
	}
	if result.Divergence != nil {
		return divergence(r, result)
	}
	return nil
}
