package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/model"
)

// supervisord lists the programs of a Supervisor configuration, after its manual, "[program:x]
// Section Settings".
func (s *source) supervisord() ([]document, error) {
	settings, sections, err := s.ini(supervisorINI)
	if err != nil {
		return nil, err
	}
	var docs []document
	seen := make(map[string]bool) // A section that is written again goes on where it was.
	for _, section := range sections {
		kind, name, ok := strings.Cut(section.section, ":")
		if !ok || kind != "program" && kind != "fcgi-program" || seen[section.section] {
			continue
		}
		seen[section.section] = true
		doc := document{kind: "program", name: strings.TrimSpace(name), line: section.line}
		doc.load = func() (*Workload, error) { return s.program(&doc, section.section, settings) }
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, s.nothing("has no [program:x] section", "name the file that has it; files of [include] are not followed")
	}
	return docs, nil
}

// program reads one program; it is restarted all at once.
func (s *source) program(doc *document, section string, settings []setting) (*Workload, error) {
	w := s.begin(doc, model.Supervisord, "stopwaitsecs")
	w.Strategy.Type = Recreate
	w.Processes = make([]Process, 1)
	for _, at := range settings {
		if at.section != section {
			continue
		}
		if err := s.programSetting(w, at); err != nil {
			return nil, err
		}
	}
	if w.Lines["stopasgroup"] == 0 {
		w.note("stopasgroup is not set: the signal goes to the process alone, not to its children")
	}
	w.close()
	return w, nil
}

func (s *source) programSetting(w *Workload, at setting) error {
	refuse := func(problem, remedy string) error { return s.at(at.line, at.column, at.key, problem, remedy) }
	switch at.key {
	case "stopwaitsecs", "numprocs":
		n, err := strconv.Atoi(at.value)
		switch {
		case strings.Contains(at.value, "%(") && at.key == "numprocs":
			// The number is known where it runs, so the fleet's size has to be said elsewhere.
			w.note("numprocs on line %d is %s, which only the environment knows; 1 assumed", at.line, at.value)
			return nil
		case strings.Contains(at.value, "%("):
			return refuse(at.value+" is known to the environment only", "write the number of seconds")
		case err != nil || n < 0 || int64(n) > maxSeconds:
			return refuse(fmt.Sprintf("%q is not a whole number", at.value), "write a number such as 10")
		case at.key == "numprocs":
			w.Replicas, w.Lines[at.key] = n, at.line
		default:
			w.setGrace(time.Duration(n)*time.Second, at.line)
		}
	case "command":
		p := &w.Processes[0]
		p.Command, p.CommandKey, p.CommandLine = splitWords(at.value), at.key, at.line
	case "environment": // KEY="value",KEY="value"
		w.Processes[0].assignments(splitWords(strings.ReplaceAll(at.value, ",", " ")), at.line)
	case "autorestart":
		w.RestartPolicy, w.Lines[at.key] = at.value, at.line
	case "stopsignal":
		name, ok := signalOf(at.value)
		if !ok {
			return refuse(fmt.Sprintf("%q is not a signal", at.value), "write TERM, HUP, INT, QUIT, KILL, USR1 or USR2")
		}
		w.StopSignal, w.Lines[at.key] = name, at.line
	case "stopasgroup", "killasgroup":
		w.Lines[at.key] = at.line
		if at.key == "stopasgroup" && strings.EqualFold(at.value, "true") {
			w.note("stopasgroup: the signal goes to the worker's children too")
		}
	default:
		return s.refuseSetting(at.key, at.line, []string{"stopwaitsecs", "stopsignal", "stopasgroup", "numprocs"})
	}
	return nil
}
