package model

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var columns = regexp.MustCompile(`  +`)

// docTable returns the rows of the table in the package comment whose header begins with
// the given words; the header is row 0.
func docTable(t *testing.T, header string) [][]string {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var rows [][]string
	for _, line := range strings.Split(file.Doc.Text(), "\n") {
		cells := columns.Split(strings.TrimSpace(line), -1)
		switch {
		case !strings.HasPrefix(line, "\t") && len(rows) > 0:
			return rows
		case strings.HasPrefix(line, "\t") && (len(rows) > 0 || strings.HasPrefix(strings.Join(cells, " "), header)):
			rows = append(rows, cells)
		}
	}
	require.Failf(t, "no table", "%q", header)
	return nil
}

// claimStanding brings a claim of job 1 to where the column of the table has it.
var claimStanding = map[string]func(*story, *worker, protocol.Verb) grant{
	"open": func(_ *story, w *worker, _ protocol.Verb) grant { return w.take() },
	"expired": func(s *story, w *worker, _ protocol.Verb) grant {
		g := w.take()
		s.at(minute)
		s.tick()
		return g
	},
	"ended by expiry": func(s *story, w *worker, _ protocol.Verb) grant {
		s.cfg.Poison = 1
		g := w.take()
		s.at(minute)
		s.tick()
		return g
	},
	"cancelled": func(s *story, w *worker, _ protocol.Verb) grant {
		g := w.take()
		s.at(minute)
		s.tick()
		s.cancel(1)
		return g
	},
	"closed, same": func(_ *story, w *worker, verb protocol.Verb) grant {
		g := w.take()
		w.settle(g, max(verb, protocol.Ack))
		return g
	},
	"closed, other": func(_ *story, w *worker, verb protocol.Verb) grant {
		g := w.take()
		w.settle(g, (verb+1)%5+1)
		return g
	},
	"older token": func(s *story, w *worker, _ protocol.Verb) grant {
		g := w.take()
		s.at(minute)
		s.worker(1, 1).take()
		return g
	},
}

func TestTheTableOfAnswersAboutAClaimIsWhatTheBrokerDoes(t *testing.T) {
	table := docTable(t, "request open")
	require.Len(t, table, 8)
	for _, row := range table[1:] {
		require.Len(t, row, len(table[0]))
		verb := protocol.NoVerb
		for _, v := range everyVerb {
			if v.String() == row[0] {
				verb = v
			}
		}
		for i, cell := range row[1:] {
			column := table[0][i+1]
			t.Run(row[0]+", "+column, func(t *testing.T) {
				s := tell(t)
				s.job()
				w := s.worker(0, 1)
				require.Contains(t, claimStanding, column)
				g := claimStanding[column](s, w, verb)
				var got protocol.Code
				switch row[0] {
				case "renew":
					got = w.renew(g)
				case "save":
					got = w.save(g, 1)
				default:
					require.NotZero(t, verb, "unknown verb")
					got = w.settle(g, verb)
				}
				assert.Equal(t, cell, got.String())
			})
		}
	}
}

func TestTheTableOfRequestsIsWhatTheBrokerDoes(t *testing.T) {
	requests := map[string]func(*story, *worker) uint64{
		"new":              func(*story, *worker) uint64 { return 1 },
		"new, going":       func(_ *story, w *worker) uint64 { w.going(); return 1 },
		"newest, answered": func(s *story, w *worker) uint64 { s.job(); w.ask(1); return 1 },
		"newest, waiting":  func(_ *story, w *worker) uint64 { w.park(); return 1 },
		"older":            func(_ *story, w *worker) uint64 { w.askAs(2, 0); return 1 },
		"withdrawn":        func(_ *story, w *worker) uint64 { w.withdraw(1); return 1 },
		"of a stranger":    func(_ *story, w *worker) uint64 { w.who.Incarnation = 99; return 1 },
	}
	table := docTable(t, "request answer")
	require.Len(t, table, len(requests)+1)
	for _, row := range table[1:] {
		t.Run(row[0], func(t *testing.T) {
			require.Contains(t, requests, row[0])
			s := tell(t)
			w := s.worker(0, 1)
			seq := requests[row[0]](s, w)
			if row[0] == "new" {
				s.job()
			}
			given := w.askAs(seq, 1)
			ev, answered := w.closes()
			word := "none"
			if answered {
				word = ev.Code.String()
			}
			assert.Equal(t, strings.FieldsFunc(row[1], func(r rune) bool { return r == ',' || r == ':' })[0], word)
			assert.Equal(t, strings.HasPrefix(row[1], "ok"), len(given) == 1)
		})
	}
}

func TestTheTableOfCountersIsWhatTheBrokerDoes(t *testing.T) {
	events := map[string]func(*story, *worker, grant){
		"renewed":      func(_ *story, w *worker, g grant) { w.renew(g) },
		"cursor saved": func(_ *story, w *worker, g grant) { w.save(g, 1) },
		"acked":        func(_ *story, w *worker, g grant) { w.ack(g) },
		"failed":       func(_ *story, w *worker, g grant) { w.fail(g) },
		"refused":      func(_ *story, w *worker, g grant) { w.refuse(g, 0) },
		"quarantined":  func(_ *story, w *worker, g grant) { w.quarantine(g) },
		"expired":      func(s *story, _ *worker, _ grant) { s.at(minute); s.tick() },
		"cut":          func(s *story, w *worker, _ grant) { w.going(); s.at(minute); s.tick() },
	}
	for reason := protocol.BecauseDrain; reason < protocol.BecauseCancelled; reason++ {
		events["released: "+reason.String()] = func(_ *story, w *worker, g grant) { w.release(g, reason, 0) }
	}
	delete(events, "released: "+protocol.BecauseRefused.String()) // it rides on refuse

	table := docTable(t, "event deliveries")
	require.Len(t, table, len(events)+2)
	for _, row := range table[1:] {
		t.Run(row[0], func(t *testing.T) {
			s := tell(t)
			s.job()
			w := s.worker(0, 1)
			counters := func() []uint16 {
				r := s.b.Job(1)
				return []uint16{r.Deliveries, r.Failures, r.Poison, r.Fruitless}
			}
			r := s.b.Job(1)
			r.Deliveries, r.Failures, r.Poison, r.Fruitless = 5, 6, 7, 8
			var before []uint16
			if row[0] == "claimed" {
				before = counters()
				w.take()
			} else {
				g := w.take()
				before = counters()
				require.Contains(t, events, row[0])
				events[row[0]](s, w, g)
			}
			for i, cell := range row[1:] {
				want := before[i]
				switch cell {
				case "+1":
					want++
				case "0":
					want = 0
				default:
					require.Equal(t, "·", cell)
				}
				assert.Equal(t, want, counters()[i], table[0][i+1])
			}
		})
	}
}
