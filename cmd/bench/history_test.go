package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// told makes a history of lines: process 1 is stopped at second 10, nobody looks after 100.
func told(lengths []int, lines ...occurrence) *history {
	h := &history{stop: 10e9, until: 100e9, gone: map[int]int64{}, left: map[int]bool{}}
	for _, s := range lengths {
		h.lengths = append(h.lengths, time.Duration(s)*time.Second)
	}
	h.events = lines
	return h
}

// says is what a process says of a job at a second.
func says(second float64, process int, event string, job int) occurrence {
	return occurrence{Event: event, Job: job, PID: process, At: int64(second * 1e9)}
}

func TestAJobThatFitsCostsNothing(t *testing.T) {
	o := told([]int{15}, says(0, 1, "started", 0), says(15, 1, "finished", 0)).reckon()
	assert.Equal(t, outcome{InFlight: 1, Finished: 1, Executions: 1}, o)
}

func TestAnInterruptedJobCostsWhatWasRedoneAndTheStall(t *testing.T) {
	o := told([]int{20},
		says(0, 1, "started", 0), says(12, 1, "interrupted", 0), // left alone it would be done at 20
		says(14, 2, "started", 0), says(34, 2, "finished", 0)).reckon()
	assert.Equal(t, outcome{InFlight: 1, Executions: 2, AddedMean: 14, AddedMax: 14, StallMean: 2, StallMax: 2, Redone: 12}, o)
}

func TestMeansAreOverJobsInFlightAndStallsOverTheInterrupted(t *testing.T) {
	o := told([]int{5, 20, 15, 5},
		says(0, 1, "started", 0), says(5, 1, "finished", 0), // over before the stop
		says(0, 1, "started", 1), says(12, 1, "interrupted", 1), says(14, 2, "started", 1), says(34, 2, "finished", 1),
		says(0, 1, "started", 2), says(15, 1, "finished", 2),
		says(11, 2, "started", 3), says(16, 2, "finished", 3), // begun after it
	).reckon()
	assert.Equal(t, outcome{InFlight: 2, Finished: 1, Executions: 1.5, AddedMean: 7, AddedMax: 14, StallMean: 2, StallMax: 2, Redone: 12}, o)
}

func TestAKilledProcessEndsItsExecutions(t *testing.T) {
	h := told([]int{20}, says(0, 1, "started", 0), says(40, 2, "started", 0), says(60, 2, "finished", 0))
	h.gone[1] = 10.5e9
	assert.Equal(t, outcome{InFlight: 1, Executions: 2, AddedMean: 40, AddedMax: 40, StallMean: 29.5, StallMax: 29.5, Redone: 10.5}, h.reckon())
}

func TestWhatIsNotFinishedCountsUpToTheEnd(t *testing.T) {
	h := told([]int{20, 20}, says(0, 1, "started", 0), says(0, 1, "started", 1), says(90, 2, "started", 1))
	h.gone[1] = 10.5e9
	h.left[1] = true // it runs; the other one nobody knows
	o := h.reckon()
	assert.Equal(t, 2, o.Unfinished)
	assert.Equal(t, 1, o.Lost)
	assert.Equal(t, 80.0, o.AddedMean)
	assert.Equal(t, 89.5, o.StallMax)
	assert.Equal(t, (89.5+79.5)/2, o.StallMean, "the one that runs again is worked on")
}

func TestAJobWithoutAnEndOfItsProcessRunsOn(t *testing.T) {
	o := told([]int{300}, says(0, 1, "started", 0)).reckon()
	assert.Equal(t, outcome{InFlight: 1, Unfinished: 1, Lost: 1, Executions: 1, Redone: 100}, o, "left alone it would not be done either")
}

func TestOverlapIsTheTimeOfTwoOrMoreAtOnce(t *testing.T) {
	o := told([]int{30, 30},
		says(0, 1, "started", 0), says(20, 2, "started", 0), says(24, 2, "interrupted", 0), // within the first
		says(25, 3, "started", 0), says(30, 1, "finished", 0), says(55, 3, "finished", 0), // beyond its end
		says(0, 1, "started", 1), says(30, 1, "finished", 1),
	).reckon()
	assert.Equal(t, 9.0, o.Overlap)
	assert.Equal(t, 1, o.Overlapping)
	assert.Zero(t, o.AddedMean, "the first finish counts")
	assert.Zero(t, o.Lost)

	three := []execution{{from: 0, to: 10}, {from: 2, to: 8}, {from: 4, to: 12}}
	assert.Equal(t, int64(8), overlap(three), "three at once are not counted twice")
}

func TestTwoExecutionsInOneProcessEndInTheirOrder(t *testing.T) {
	o := told([]int{20},
		says(0, 1, "started", 0), says(15, 1, "started", 0), says(20, 1, "finished", 0), says(35, 1, "finished", 0)).reckon()
	assert.Equal(t, 5.0, o.Overlap)
	assert.Equal(t, 1, o.Finished)
}

func TestEventsMayComeInAnyOrder(t *testing.T) {
	h := told([]int{20}, says(34, 2, "finished", 0), says(14, 2, "started", 0), says(12, 1, "interrupted", 0), says(0, 1, "started", 0))
	assert.Equal(t, 14.0, h.reckon().AddedMean)
	assert.Equal(t, "finished", h.events[0].Event, "and what was observed stays as it is")
}

func TestWhatHappenedBeforeTheStopIsNotItsCost(t *testing.T) {
	o := told([]int{20},
		says(0, 1, "started", 0), says(3, 1, "interrupted", 0), says(5, 1, "started", 0), says(25, 1, "finished", 0)).reckon()
	assert.Equal(t, outcome{InFlight: 1, Finished: 1, Executions: 1}, o)
}

func TestNothingInFlightIsNoDivisionByZero(t *testing.T) {
	assert.Equal(t, outcome{}, told([]int{5}).reckon())
}

func TestEveryOtherJobFitsTheGrace(t *testing.T) {
	c := course{jobs: 2000, grace: 10 * time.Second}
	fit := 0
	for _, d := range c.lengths() {
		rest := d - c.settled()
		assert.Greater(t, rest, c.grace/20, "it is in flight at the stop")
		assert.Less(t, d, c.longest())
		switch {
		case rest <= c.grace/2:
			fit++
		default:
			assert.Greater(t, rest, c.grace)
		}
	}
	assert.Equal(t, 1000, fit)
}
