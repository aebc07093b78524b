package chronicle

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// event is one line of the Trace Event Format. Times are microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Cat   string         `json:"cat,omitempty"`
	Time  micros         `json:"ts"`
	Dur   *micros        `json:"dur,omitempty"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Scope string         `json:"s,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Args  map[string]any `json:"args,omitempty"` // written in the order of their names
}

// micros is nanoseconds, written as microseconds without a loss.
type micros int64

func (m micros) MarshalJSON() ([]byte, error) {
	if m%1000 == 0 {
		return strconv.AppendInt(nil, int64(m/1000), 10), nil
	}
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// order of events at one instant: names first, then what begins, then what is in it.
var order = map[string]int{"M": 0, "e": 1, "X": 2, "b": 3, "C": 4, "i": 5, "s": 6, "f": 7}

// WritePerfetto writes a trace: a process for each track, a thread for its own life and for
// each slot, spans as slices, marks as instants, claims held as a counter, and stalls as
// asynchronous slices, with an arrow from where a job was interrupted to where it went on.
func (c *Chronicle) WritePerfetto(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"title\":%s},\"traceEvents\":[", quoted(c.Title))
	for i, e := range c.events() {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteByte('\n')
		w.Write(line) // an error stays until Flush
	}
	w.WriteString("\n]}\n")
	return w.Flush()
}

func quoted(s string) []byte {
	text, _ := json.Marshal(s) // a string always can be
	return text
}

// events are all of them, in the order of time.
func (c *Chronicle) events() []event {
	var all []event
	threads := map[Place]int{} // numbered through: no two processes share a thread's number
	for i, t := range c.Tracks {
		pid := i + 1
		all = append(all, named("process_name", pid, 0, t.Name), event{Name: "process_sort_index", Phase: "M", Pid: pid, Args: map[string]any{"sort_index": i}})
		for row := range t.Slots + 1 {
			tid := len(threads) + 1
			threads[Place{i, row}] = tid
			name := "slot " + strconv.Itoa(row-1)
			if row == 0 {
				name = "process"
			}
			all = append(all, named("thread_name", pid, tid, name), event{Name: "thread_sort_index", Phase: "M", Pid: pid, Tid: tid, Args: map[string]any{"sort_index": row}})
		}
		for _, s := range t.ordered() {
			dur := micros(s.Until - s.From)
			all = append(all, event{Name: s.Name, Phase: "X", Cat: s.Class.String(), Time: micros(s.From), Dur: &dur, Pid: pid, Tid: threads[Place{i, s.Row}], Args: s.args()})
		}
		for _, m := range t.Marks {
			e := event{Name: m.Name, Phase: "i", Scope: "t", Time: micros(m.At), Pid: pid, Tid: threads[Place{i, m.Row}]}
			if m.Job != 0 {
				e.Args = map[string]any{"job": m.Job}
			}
			all = append(all, e)
		}
		for _, l := range t.Held {
			all = append(all, event{Name: "claims held", Phase: "C", Time: micros(l.At), Pid: pid, Args: map[string]any{"claims": l.Value}})
		}
	}
	all = append(all, c.stalls(threads)...)
	slices.SortStableFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(min(order[a.Phase], 1), min(order[b.Phase], 1)), cmp.Compare(a.Time, b.Time), cmp.Compare(order[a.Phase], order[b.Phase]))
	})
	return all
}

// stalls are asynchronous slices of a process of their own, and arrows between rows.
func (c *Chronicle) stalls(threads map[Place]int) []event {
	if len(c.Stalls) == 0 {
		return nil
	}
	pid := len(c.Tracks) + 1
	all := []event{named("process_name", pid, 0, "jobs that stand still"), {Name: "process_sort_index", Phase: "M", Pid: pid, Args: map[string]any{"sort_index": -1}}}
	for i, s := range c.Stalls {
		e := event{Name: fmt.Sprintf("job %d stands still", s.Job), Phase: "b", Cat: "stall", Time: micros(s.From), Pid: pid, ID: strconv.Itoa(i + 1), Args: map[string]any{"job": s.Job}}
		all = append(all, e)
		e.Phase, e.Time, e.Args = "e", micros(s.Until), nil
		all = append(all, e)
		if s.Open || s.Left == Nowhere || s.Went == Nowhere {
			continue
		}
		// What was interrupted may have ended that very instant; an arrow begins within it.
		arrow := event{Name: "goes on", Phase: "s", Cat: "job", Time: micros(max(s.From-1, 0)), Pid: s.Left.Track + 1, Tid: threads[s.Left], ID: e.ID}
		all = append(all, arrow)
		arrow.Phase, arrow.Bind, arrow.Time, arrow.Pid, arrow.Tid = "f", "e", micros(s.Until), s.Went.Track+1, threads[s.Went]
		all = append(all, arrow)
	}
	return all
}

func named(what string, pid, tid int, name string) event {
	return event{Name: what, Phase: "M", Pid: pid, Tid: tid, Args: map[string]any{"name": name}}
}

func (s *Span) args() map[string]any {
	args := map[string]any{}
	if s.Job != 0 {
		args["job"] = s.Job
	}
	for _, d := range s.Details {
		args[d.Name] = d.Value
	}
	return args
}
