package main

import (
	"slices"
	"time"
)

// occurrence is a line that a worker process prints about a job.
type occurrence struct {
	Event string `json:"event"` // started, finished, interrupted
	Job   int    `json:"job"`
	PID   int    `json:"pid"`
	At    int64  `json:"at"` // Unix nanoseconds
}

// history is what is known of the jobs of a run.
type history struct {
	lengths []time.Duration // how long each job works, by number
	events  []occurrence
	stop    int64         // when the first process was told to stop, or was killed
	gone    map[int]int64 // by process: when it was gone, of those that did not live until the end
	until   int64         // when nobody looked any more
	left    map[int]bool  // jobs that the queue had then
}

// outcome is what a stop has cost the jobs that were in flight. Times are in seconds.
type outcome struct {
	InFlight    int     `json:"in_flight"`
	Finished    int     `json:"finished_where_they_were"`
	Unfinished  int     `json:"unfinished"`          // when nobody looked any more: times count up to then, and are at least so long
	AddedMean   float64 `json:"added_seconds_mean"`  // to the end of a job, against being left alone
	AddedMax    float64 `json:"added_seconds_max"`   //
	StallMean   float64 `json:"stall_seconds_mean"`  // of those that were interrupted: nobody worked on it
	StallMax    float64 `json:"stall_seconds_max"`   //
	Overlap     float64 `json:"overlap_seconds"`     // in all: two executions of a job at once
	Overlapping int     `json:"overlapping_jobs"`    //
	Executions  float64 `json:"executions_per_job"`  //
	Lost        int     `json:"jobs_lost"`           // not finished, and the queue has them no more
	Redone      float64 `json:"redone_seconds_mean"` // of those that were interrupted: work of executions that did not finish
}

// execution is one run of a job's handler.
type execution struct {
	job, pid int
	from, to int64
	finished bool
}

// executions are those of every job, in the order in which they began.
func (h *history) executions() map[int][]execution {
	events := slices.Clone(h.events)
	slices.SortStableFunc(events, func(a, b occurrence) int { return int(a.At - b.At) })
	all := map[int][]execution{}
	for _, e := range events {
		runs := all[e.Job]
		if e.Event == "started" {
			to := h.until
			if gone, ok := h.gone[e.PID]; ok {
				to = gone
			}
			all[e.Job] = append(runs, execution{job: e.Job, pid: e.PID, from: e.At, to: max(to, e.At)})
			continue
		}
		// Of several in one process the oldest ended that has not yet.
		open := slices.IndexFunc(runs, func(x execution) bool { return x.pid == e.PID && x.to > e.At })
		if open >= 0 {
			runs[open].to, runs[open].finished = e.At, e.Event == "finished"
		}
	}
	return all
}

// reckon computes what the stop has cost.
func (h *history) reckon() outcome {
	var o outcome
	var added, stalls, redone []float64
	runs := 0
	all := h.executions()
	for job, length := range h.lengths {
		of := all[job]
		at := slices.IndexFunc(of, func(x execution) bool { return x.from <= h.stop && x.to > h.stop })
		if at < 0 {
			continue // it was not in flight
		}
		o.InFlight++
		of = of[at:]
		runs += len(of)
		done, finished := firstFinish(of)
		if !finished {
			done = h.until
			o.Unfinished++
			if !h.left[job] {
				o.Lost++
			}
		}
		added = append(added, seconds(max(done-of[0].from-int64(length), 0)))
		if of[0].finished {
			o.Finished++
		} else {
			stalls = append(stalls, seconds(idle(of, done)))
			redone = append(redone, seconds(wasted(of)))
		}
		if both := overlap(of); both > 0 {
			o.Overlap += seconds(both)
			o.Overlapping++
		}
	}
	o.AddedMean, o.AddedMax = mean(added), greatest(added)
	o.StallMean, o.StallMax = mean(stalls), greatest(stalls)
	o.Redone = mean(redone)
	if o.InFlight > 0 {
		o.Executions = float64(runs) / float64(o.InFlight)
	}
	return o
}

// firstFinish is when a job was done.
func firstFinish(of []execution) (at int64, finished bool) {
	for _, x := range of {
		if x.finished && (!finished || x.to < at) {
			at, finished = x.to, true
		}
	}
	return at, finished
}

// idle is how long nobody worked on a job until it was done, of executions in the order of
// their beginnings.
func idle(of []execution, done int64) (sum int64) {
	covered := of[0].to
	for _, x := range of[1:] {
		if x.from >= done {
			break
		}
		sum += max(x.from-covered, 0)
		covered = max(covered, x.to)
	}
	return sum + max(done-covered, 0)
}

// wasted is the work of executions that did not finish.
func wasted(of []execution) (sum int64) {
	for _, x := range of {
		if !x.finished {
			sum += x.to - x.from
		}
	}
	return sum
}

// overlap is how long two or more executions ran at once.
func overlap(of []execution) (sum int64) {
	covered := of[0].to // by one
	twice := of[0].from // up to where it was counted
	for _, x := range of[1:] {
		from, to := max(x.from, twice), min(x.to, covered)
		if to > from {
			sum += to - from
			twice = to
		}
		covered = max(covered, x.to)
	}
	return sum
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func mean(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}

func greatest(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	return slices.Max(of)
}
