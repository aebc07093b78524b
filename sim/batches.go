package sim

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/protocol"
)

// batches is the counters of jobs that come in batches: a counter stands at the number of jobs
// that have not been counted down, and at zero the application goes on with the whole batch. They
// lie in a store that loses nothing and takes in every write; who writes, and when, is what can go
// wrong.
type batches struct {
	jobs    model.Pages[batchJob]
	all     []batch
	filling []int32 // by kind: the batch that the next job joins, plus one; 0 where it begins one
}

// batchJob is a job of a batch.
type batchJob struct {
	batch   int32
	worked  bool // an execution of it came to its end
	acked   bool
	counted bool // down, once or more
}

type batch struct {
	began    protocol.Instant // the arrival of its first job
	ackedAt  protocol.Instant // the newest ack of a job
	missing  int32            // jobs that have not arrived
	unworked int32
	unacked  int32
	left     int32 // the counter
	early    bool  // it said zero while work was not done
}

// joins puts a job that arrives into the batch of its kind that is not full.
func (w *World) joins(job protocol.JobKey, kind protocol.Kind) {
	size := int32(w.sc.Jobs[kind].Batch)
	if size == 0 {
		return
	}
	s := &w.batches
	if s.filling == nil {
		s.filling = make([]int32, len(w.sc.Jobs))
	}
	if s.filling[kind] == 0 {
		s.all = append(s.all, batch{began: w.now, missing: size, unworked: size, unacked: size, left: size})
		s.filling[kind] = int32(len(s.all))
	}
	n := s.filling[kind] - 1
	s.jobs.Put(uint64(job)).batch = n
	if s.all[n].missing--; s.all[n].missing == 0 {
		s.filling[kind] = 0
	}
}

// of returns a job and its batch, or nothing when it is in none.
func (s *batches) of(job protocol.JobKey) (*batchJob, *batch) {
	j := s.jobs.Get(uint64(job))
	if j == nil {
		return nil, nil
	}
	return j, &s.all[j.batch]
}

// worked takes in that a handler has come to its end. Where it counts, that is the last thing it does.
func (w *World) worked(p *process, job protocol.JobKey) {
	j, b := w.batches.of(job)
	if j == nil {
		return
	}
	if !j.worked {
		j.worked = true
		b.unworked--
	}
	if how := w.sc.Queue.Counted; how == model.CountedByRun || how == model.CountedByJob && !j.counted {
		w.counts(p.whom(), job, j, b)
	}
}

// counts writes a counter for a life.
func (w *World) counts(by whom, job protocol.JobKey, j *batchJob, b *batch) {
	again := j.counted
	j.counted = true
	b.left--
	b.early = b.early || b.left == 0 && b.unworked > 0
	if w.observer != nil {
		w.observer(Observation{At: w.now, Kind: SawCount, Seat: by.seat, Life: by.life, Count: Count{job, b.left, b.unworked, again}})
	}
}

// acked takes in that the broker has a job's ack. Should a failover forget it, the job is run again
// and what it counted stays.
func (s *batches) acked(job protocol.JobKey, now protocol.Instant) {
	if j, b := s.of(job); j != nil && !j.acked {
		j.acked = true
		b.unacked--
		b.ackedAt = now
	}
}

// countsFirst begins the second half of an ack whose worker counts the job down after it, when
// the answer to the first half comes to the process. To the machine the two are one request, so
// it hears of the ack once both are answered, and repeats it where an answer does not come.
func (w *World) countsFirst(p *process, e event, ev *protocol.Event) bool {
	if w.sc.Queue.Counted != model.CountedAfterAck || ev.Kind != protocol.SettleAnswered || ev.Code != protocol.OK && ev.Code != protocol.Repeat {
		return false
	}
	j, _ := w.batches.of(ev.Job)
	row := w.broker.Job(ev.Job)
	if j == nil || j.counted || row == nil || row.State != model.JobDone || row.Token != ev.Token {
		return false
	}
	n := uint64(p.sent) * drawsPerMessage
	p.sent++
	if p.partitionedUntil > w.now || w.rnd.Happens(StreamMessage, p.name(), n, w.sc.Faults.Network.Loss) {
		return true
	}
	at := w.now.Add(w.latency(StreamMessage, p.name(), n+1))
	w.at(at, event{kind: evCount, whom: e.whom, what: w.answers.put(answerNode{event: *ev})})
	p.expect(w.now, at)
	return true
}

// onCount is the arrival of a request that counts a job down. It changes nothing the second time.
func (w *World) onCount(e event) {
	ack := w.answers.take(e.what).event
	if j, b := w.batches.of(ack.Job); j != nil && !j.counted {
		w.counts(e.whom, ack.Job, j, b)
	}
	w.sendAnswer([]model.Answer{{To: model.Member{Seat: e.seat, Nonce: uint64(e.life)}, Event: ack}})
}

// measure counts the batches that began after the warm-up. Counters of those whose last ack came
// late in the run may still be written.
func (s *batches) measure(row *meter.Row, from, until protocol.Instant) {
	for i := range s.all {
		b := &s.all[i]
		if b.began < from {
			continue
		}
		if b.early {
			row.Counts[meter.BatchesCompletedEarly]++
		}
		if b.over(until) {
			row.Counts[meter.BatchesDone]++
			if b.left > 0 {
				row.Counts[meter.BatchesNeverCompleted]++
			}
		}
	}
}

// over reports whether every job was done by an instant.
func (b *batch) over(until protocol.Instant) bool { return b.unacked == 0 && b.ackedAt <= until }

// tellUncounted shows whoever looks on why the counters of batches that are over are not at zero.
func (w *World) tellUncounted(until protocol.Instant) {
	w.batches.jobs.Each(func(n uint64, j *batchJob) {
		if b := &w.batches.all[j.batch]; !j.counted && b.over(until) {
			w.observer(Observation{At: w.end, Kind: SawUncounted, Seat: -1, Count: Count{Job: protocol.JobKey(n), Left: b.left}})
		}
	})
}
