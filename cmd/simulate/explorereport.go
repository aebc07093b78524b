package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/quiesce/quiesce/sim/explore"
)

// search is one world that was searched, and how long that took: on the wall, and of all
// processors together, 0 where nobody can tell.
type search struct {
	explore.Report
	took, cpu time.Duration
}

// exploreReport is the result of explore: worlds that were searched, or only their names.
type exploreReport struct {
	list     bool
	worlds   []explore.World
	searches []search
}

func (r *exploreReport) broken() (n int) {
	for _, s := range r.searches {
		if s.Broken.Invariant != "" {
			n++
		}
	}
	return n
}

// verdict says in a word or two what a search came to.
func (s *search) verdict() string {
	switch {
	case s.Broken.Invariant != "":
		return "broken: " + s.Broken.Invariant
	case s.Complete:
		return "holds"
	default:
		return "open: " + s.Bound
	}
}

func (s *search) perState() int { return s.Bytes / max(s.States, 1) }

// perSecond is how much of n comes to a second of d.
func perSecond(n int, d time.Duration) int {
	return int(float64(n) / max(d, time.Microsecond).Seconds())
}

// perCPUSecond says how many transitions one core makes in a second.
func (s *search) perCPUSecond() string {
	if s.cpu == 0 {
		return "-"
	}
	return thousands(perSecond(s.Transitions, s.cpu))
}

func (r *exploreReport) writeTable(w io.Writer) error {
	wide := 0
	for _, world := range r.worlds {
		wide = max(wide, width(world.Name))
	}
	if r.list {
		for _, world := range r.worlds {
			about := world.About
			if world.Large {
				about += " (takes minutes)"
			}
			fmt.Fprint(w, wrap(padRight(world.Name, wide)+"  ", padRight("", wide+2), about))
		}
		return nil
	}
	fmt.Fprintf(w, "%s  %12s  %12s  %5s  %8s  %12s  %7s  %s\n", padRight("world", wide), "states", "transitions", "depth", "seconds", "per CPU s", "B/state", "")
	for i := range r.searches {
		s := &r.searches[i]
		fmt.Fprintf(w, "%s  %12s  %12s  %5d  %8.2f  %12s  %7d  %s\n", padRight(s.World, wide),
			thousands(s.States), thousands(s.Transitions), s.Depth, s.took.Seconds(), s.perCPUSecond(), s.perState(), s.verdict())
	}
	for i := range r.searches {
		if s := &r.searches[i]; s.Broken.Invariant != "" {
			s.tell(w)
		}
	}
	return nil
}

// tell writes the counter-example as a story.
func (s *search) tell(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s\n\n", s.World, s.Broken)
	for _, l := range s.Story {
		fmt.Fprintf(w, "  %s\n", l)
	}
	if len(s.Cycle) > 0 {
		fmt.Fprint(w, "\n  and from there on, again and again:\n\n")
		for _, l := range s.Cycle {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
}

func (r *exploreReport) writeJSON(w io.Writer) error {
	worlds := []object{}
	if r.list {
		for _, world := range r.worlds {
			worlds = append(worlds, object{{"name", world.Name}, {"about", world.About}, {"large", world.Large}})
		}
		return writeIndented(w, object{{"worlds", worlds}})
	}
	var seconds float64
	meta := object{}
	for i := range r.searches {
		s := &r.searches[i]
		o := object{{"name", s.World}, {"states", s.States}, {"transitions", s.Transitions}, {"depth", s.Depth}, {"complete", s.Complete}, {"bytes", s.Bytes}}
		if s.Bound != "" {
			o = append(o, member{"bound", s.Bound})
		}
		if s.Broken.Invariant != "" {
			o = append(o, member{"broken", object{{"invariant", s.Broken.Invariant}, {"what", s.Broken.What}}}, member{"story", lines(s.Story)})
			if len(s.Cycle) > 0 {
				o = append(o, member{"cycle", lines(s.Cycle)})
			}
		}
		worlds = append(worlds, o)
		seconds += s.took.Seconds()
		speed := object{{"wall_seconds", s.took.Seconds()}, {"states_per_second", perSecond(s.States, s.took)}, {"transitions_per_second", perSecond(s.Transitions, s.took)}}
		if s.cpu > 0 {
			speed = append(speed, member{"cpu_seconds", s.cpu.Seconds()}, member{"transitions_per_cpu_second", perSecond(s.Transitions, s.cpu)})
		}
		meta = append(meta, member{s.World, speed})
	}
	return writeIndented(w, object{{"worlds", worlds}, {"meta", object{{"wall_seconds", seconds}, {"worlds", meta}}}})
}

func lines(story []explore.Line) []string {
	all := make([]string, len(story))
	for i, l := range story {
		all[i] = l.String()
	}
	return all
}

func (r *exploreReport) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if r.list {
		_ = c.Write([]string{"world", "about"})
		for _, world := range r.worlds {
			_ = c.Write([]string{world.Name, world.About})
		}
	} else {
		_ = c.Write([]string{"world", "states", "transitions", "depth", "complete", "broken", "bytes", "seconds"})
		for i := range r.searches {
			s := &r.searches[i]
			_ = c.Write([]string{s.World, strconv.Itoa(s.States), strconv.Itoa(s.Transitions), strconv.Itoa(s.Depth),
				strconv.FormatBool(s.Complete), s.Broken.Invariant, strconv.Itoa(s.Bytes), strconv.FormatFloat(s.took.Seconds(), 'f', 3, 64)})
		}
	}
	c.Flush()
	return c.Error()
}
