package main

import (
	"github.com/quiesce/quiesce/model"
)

// columnsInWords says of every column with settings of its own what they are.
func columnsInWords(sc *model.Scenario, names []string) []fact {
	var facts []fact
	for _, name := range names {
		preset, under, err := sc.Under(name)
		if err != nil || under == sc {
			continue // names were checked when the command line was read
		}
		facts = append(facts, fact{"today", preset.Name + ": " + preset.About + "; " + rescueInWords(preset.Rescue, &under.Queue)})
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
