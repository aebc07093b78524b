package main

import (
	"strings"

	"github.com/quiesce/quiesce/model"
)

// columnsInWords says of every column that is none of the policies what it is.
func columnsInWords(sc *model.Scenario, names []string) []fact {
	var facts []fact
	for _, name := range names {
		preset, under, err := sc.Under(name)
		switch faults := preset.Faults(); {
		case err != nil: // names were checked when the command line was read
		case under != sc:
			facts = append(facts, fact{"today", preset.Name + ": " + preset.About + "; " + rescueInWords(preset.Rescue, &under.Queue)})
		case len(faults) > 0:
			facts = append(facts, fact{"unsafe", preset.Name + ": " + preset.About + "; built in: " + strings.Join(faults, ", ")})
		}
	}
	return facts
}

// rescueInWords says what frees the job of a worker that vanished.
func rescueInWords(rescue model.Rescue, q *model.Queue) string {
	switch {
	case rescue == model.LostWithHolder:
		return "no lease"
	case q.FreedByHangup:
		return "a claim ends with its connection"
	case rescue == model.RescueBySweep:
		s := queueInWords(q) + "; a sweep frees what has expired every " + short(q.SweepPeriod)
		if q.SweepSlack > 0 {
			s += ", " + short(q.SweepSlack) + " after its end at the soonest"
		}
		return s
	default:
		return queueInWords(q)
	}
}
