package manifest

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/quiesce/quiesce/model"
)

// processLine is a line of a Procfile (Heroku Dev Center, "The Procfile"); neither Heroku nor Foreman
// needs the blank after the colon.
var processLine = regexp.MustCompile(`^([A-Za-z0-9_-]+):\s*(\S.*)$`)

// procfile lists the process types of a Procfile, without release, which serves nobody.
func (s *source) procfile() ([]document, error) {
	var docs []document
	first := make(map[string]int)
	for i, row := range s.lines() {
		text := strings.TrimSpace(row)
		if text == "" || text[0] == '#' {
			continue
		}
		m := processLine.FindStringSubmatch(text)
		switch {
		case m == nil:
			return nil, s.at(i+1, indent(row), "", "is not a process type", "write TYPE: COMMAND, for example worker: bundle exec sidekiq")
		case first[m[1]] > 0:
			return nil, s.at(i+1, indent(row), m[1], "is written twice, first on line "+strconv.Itoa(first[m[1]]), "keep one of them")
		}
		first[m[1]] = i + 1
		if m[1] == "release" {
			continue
		}
		doc := document{kind: "process", name: m[1], line: i + 1}
		doc.load = func() (*Workload, error) { return s.dyno(&doc, m[2]), nil }
		docs = append(docs, doc)
	}
	if len(docs) == 0 {
		return nil, s.refuse("has no process type", "write one, for example worker: bundle exec sidekiq")
	}
	return docs, nil
}

// dyno is a process type on Heroku: a Procfile says what runs and nothing about how it stops.
// New dynos start while the old ones shut down (Heroku Dev Center, "Dynos", Restarting).
func (s *source) dyno(doc *document, command string) *Workload {
	w := s.begin(doc, model.Heroku, "the grace")
	p := Process{Command: splitWords(command), CommandKey: doc.name, CommandLine: doc.line}
	p.assignments(p.Command, doc.line)
	w.Processes = []Process{p}
	w.replaceAtOnce()
	w.note("a Procfile has no number of dynos; 1 assumed")
	w.note("Heroku is assumed; SIGTERM goes to every process of the dyno, and may come several times")
	w.close()
	return w
}
