package manifest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/model"
)

// fly reads a fly.toml (Fly.io documentation, "App configuration"). With [processes] every
// process group is a workload of its own, since each has machines of its own.
func (s *source) fly() ([]document, error) {
	values, err := s.toml()
	if err != nil {
		return nil, err
	}
	app := document{kind: "app", name: "app", line: 1}
	var docs []document
	for _, v := range values {
		switch {
		case v.table == "" && v.key == "app":
			if name, ok := v.text(); ok {
				app.name, app.line = name, v.line
			}
		case v.table == "" && strings.HasPrefix(v.raw, "{") && slices.Contains(flyTables, v.key):
			return nil, s.at(v.line, v.column, v.key, "is a table in braces", "write ["+v.key+"] and its keys on lines below it")
		case v.table == "processes" && !slices.Contains(flyKeys[""], v.key):
			docs = append(docs, document{kind: "process", name: v.key, line: v.line})
		}
	}
	if len(docs) == 0 {
		docs = []document{app}
	}
	for i := range docs {
		doc := &docs[i]
		doc.load = func() (*Workload, error) { return s.flyApp(doc, values) }
	}
	return docs, nil
}

// flyTables are the tables of which keys are read.
var flyTables = []string{"processes", "deploy", "env"}

// flyKeys are the keys that decide how an app stops, by their table.
var flyKeys = map[string][]string{"": {"kill_timeout", "kill_signal"}, "deploy": {"strategy", "max_unavailable"}}

// flyStray looks at a key that is not read: it may be misspelt, or it was added at the end of the
// file, below the header of some table.
func (s *source) flyStray(w *Workload, v tomlValue) error {
	switch {
	case slices.Contains(flyKeys[""], v.key):
		const place = "above the first table"
		if v.key == w.GraceKey {
			w.Ignored = append(w.Ignored, Setting{v.key, v.raw, v.line, place})
		}
		w.note("%s on line %d stands in [%s] and is ignored; write it %s", v.key, v.line, v.table, place)
	case v.table == "env" || v.table == "processes": // whatever names their owner likes
	default:
		return s.refuseSetting(v.key, v.line, flyKeys[v.table])
	}
	return nil
}

func (s *source) flyApp(doc *document, values []tomlValue) (*Workload, error) {
	w := s.begin(doc, model.Fly, "kill_timeout")
	w.Processes = []Process{flyProcess(doc, values)}
	strategy, unavailable := "rolling", IntOrPercent{Value: 33, Percent: true}
	for _, v := range values {
		refuse := func(problem, remedy string) error { return s.at(v.line, v.column, v.key, problem, remedy) }
		switch v.table + "." + v.key {
		case ".kill_timeout":
			d, problem, remedy := flySeconds(v)
			if problem != "" {
				return nil, refuse(problem, remedy)
			}
			w.setGrace(d, v.line)
		case ".kill_signal":
			text, isText := v.text()
			name, ok := signalOf(text)
			if !isText || !ok {
				return nil, refuse(v.raw+" is not a signal", `write a name in quotes, such as "SIGTERM"`)
			}
			w.StopSignal, w.Lines[v.key] = name, v.line
		case "deploy.strategy":
			strategy, _ = v.text()
			switch strategy {
			case "rolling", "immediate", "canary", "bluegreen":
			default:
				return nil, refuse(v.raw+" is not known", `write "rolling", "immediate", "canary" or "bluegreen"`)
			}
			w.Lines[v.key] = v.line
		case "deploy.max_unavailable":
			n, err := strconv.ParseFloat(v.raw, 64)
			switch {
			case err != nil || n <= 0 || n > math.MaxInt32:
				return nil, refuse(v.raw+" is neither a number of machines nor a fraction", "write 1, or 0.33")
			case n < 1:
				unavailable = IntOrPercent{Value: int(math.Round(n * 100)), Percent: true}
			default:
				unavailable = IntOrPercent{Value: int(n)}
			}
			w.Lines[v.key] = v.line
		default:
			if err := s.flyStray(w, v); err != nil {
				return nil, err
			}
		}
	}
	w.note("a fly.toml has no number of machines; 1 assumed")
	switch strategy {
	case "immediate":
		w.replaceAtOnce()
		w.Strategy.MaxSurge = IntOrPercent{}
	case "bluegreen":
		w.replaceAhead()
	case "canary":
		w.note("the canary machine is not simulated; rolling is")
		fallthrough
	default:
		w.Strategy = Strategy{Type: RollingUpdate, MaxUnavailable: unavailable}
	}
	if w.StopSignal == "" {
		w.note("kill_signal is not set; SIGINT assumed, as the reference says (another page says SIGTERM)")
	}
	w.close()
	return w, nil
}

// flyProcess reads the command of a process group, which Fly splits and starts without a shell.
func flyProcess(doc *document, values []tomlValue) Process {
	var p Process
	for _, v := range values {
		text, _ := v.text()
		switch {
		case v.table == "processes" && v.key == doc.name:
			p.Name, p.Command, p.CommandKey, p.CommandLine = doc.name, splitWords(text), v.key, v.line
		case v.table == "env" && v.key == grace.Variable:
			if text == "" {
				text = v.raw
			}
			p.told(text, v.line)
		}
	}
	return p
}

// flySeconds reads kill_timeout: a number of seconds, or a duration in quotes.
func flySeconds(v tomlValue) (d time.Duration, problem, remedy string) {
	if text, ok := v.text(); ok {
		return parseGoDuration(strings.TrimSpace(text))
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(v.raw, "_", ""), 10, 64)
	switch {
	case err != nil || n > maxSeconds:
		return 0, v.raw + " is not a number of seconds", `write 30, or "30s"`
	case n < 0:
		return 0, fmt.Sprintf("%d is negative", n), "write 0 or more"
	}
	return time.Duration(n) * time.Second, "", ""
}
