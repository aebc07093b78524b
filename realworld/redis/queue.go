package redis

import (
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Queue is what jobs are added to and what an operator looks at.
type Queue struct {
	broker     *Broker
	config     QueueConfig
	number     int
	policy     string
	partitions []*partition
	next       atomic.Uint32 // partition for the next jobs
	comebacks  int           // of partitions; under the broker's mu
}

// rotated returns the partitions, beginning with the n-th.
func (q *Queue) rotated(n int) []*partition {
	if len(q.partitions) == 1 {
		return q.partitions
	}
	n %= len(q.partitions)
	return append(append([]*partition{}, q.partitions[n:]...), q.partitions[:n]...)
}

// jitter is what is added to the delay after a failure: a hash of the job and its claim, so
// that the same settlement asks for the same.
func (q *Queue) jitter(s *worker.Settlement) time.Duration {
	if s.Verb != protocol.Fail || q.config.Spread <= 0 {
		return 0
	}
	x := uint64(s.Job)*0x9e3779b97f4a7c15 ^ uint64(s.Token)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // splitmix64, Steele et al. 2014
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return time.Duration((x ^ x>>31) % uint64(q.config.Spread+1))
}

// Class may be implemented by errors of handlers: dead letters are told apart by it. The
// class of other errors is the type of the innermost one.
type Class interface {
	error
	Class() string
}

// most of an error's text that is kept.
const longestMessage = 1000

func describe(err error) (class, message string) {
	if err == nil {
		return "", ""
	}
	message = err.Error()
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "")
	}
	var c Class
	if errors.As(err, &c) {
		return c.Class(), message
	}
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return reflect.TypeOf(err).String(), message
}
