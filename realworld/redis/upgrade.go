package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
)

// SchemaError says that what is stored has another schema than this build can work on. It
// counts as worker.ErrRefused.
type SchemaError struct {
	Stored, Known int
}

func (e *SchemaError) Error() string {
	if e.Stored > e.Known {
		return fmt.Sprintf("redis: what is stored has schema %d, and this build knows up to %d; start the newer build", e.Stored, e.Known)
	}
	return fmt.Sprintf("redis: what is stored has schema %d, and this build knows %d and %d; start a build in between first", e.Stored, e.Known-1, e.Known)
}

// Is makes a SchemaError a worker.ErrRefused.
func (e *SchemaError) Is(target error) bool { return target == worker.ErrRefused }

// OlderBuildsError says that workers of an older build are about, which could not work on what
// would be stored.
type OlderBuildsError struct {
	Schema int
	Seats  []string // sorted
}

func (e *OlderBuildsError) Error() string {
	named := e.Seats[:min(len(e.Seats), 10)]
	more := ""
	if len(named) < len(e.Seats) {
		more = fmt.Sprintf(" and %d more", len(e.Seats)-len(named))
	}
	return fmt.Sprintf("redis: schema %d: workers of an older build hold claims or asked for jobs in the last %v: %s%s; finish the deploy first, "+
		"and wait as long", e.Schema, lately, strings.Join(named, ", "), more)
}

// lately is how long ago a worker may have claimed that is thought to be about.
const lately = 10 * time.Minute

// Schema returns the schema of what is stored, which Open found.
func (b *Broker) Schema() int { return b.stored }

// Upgrade gives what is stored the schema of this build. Until then a build works as the one
// before it would, so that a deploy can be rolled back; afterwards older builds are refused.
// Call it once no older build runs, be it of workers or of what enqueues: workers that do are
// found, and an OlderBuildsError names them. Processes use the new schema from their next start.
// When nothing is to be done it does nothing, and when it fails it can be repeated.
func (b *Broker) Upgrade(ctx context.Context) error {
	known := strconv.Itoa(b.opt.schema)
	queuesKey, _ := globalKeys(b.opt.Namespace)
	said, err := b.run(ctx, &b.scripts.upgrade, []string{queuesKey}, []string{""}).AsStrSlice()
	if err != nil {
		return fmt.Errorf("redis: upgrade: %w", err)
	}
	stored, _ := strconv.Atoi(said[0])
	switch {
	case stored == b.opt.schema:
		return nil
	case stored != b.opt.schema-1:
		return &SchemaError{Stored: stored, Known: b.opt.schema}
	}
	var partitions [][]string // their keys, of all queues of the namespace
	for i := 1; i+1 < len(said); i += 2 {
		n, _ := strconv.Atoi(said[i+1])
		for k := range n {
			partitions = append(partitions, partitionKeys(b.opt.Namespace, said[i], k))
		}
	}
	older := func(what string) (seats []string, err error) {
		for _, keys := range partitions {
			some, err := b.run(ctx, &b.scripts.older, keys, []string{QueueConfig{}.policy(), known, what, micros(lately)}).AsStrSlice()
			if err != nil {
				return nil, fmt.Errorf("redis: upgrade: %w", err)
			}
			seats = append(seats, some...)
		}
		slices.Sort(seats)
		return slices.Compact(seats), nil
	}
	seats, err := older("look")
	if err != nil {
		return err
	}
	if len(seats) > 0 {
		return &OlderBuildsError{Schema: b.opt.schema, Seats: seats}
	}
	if _, err := older("end"); err != nil {
		return err
	}
	if err := b.run(ctx, &b.scripts.upgrade, []string{queuesKey}, []string{known}).Error(); err != nil {
		return fmt.Errorf("redis: upgrade: %w", err)
	}
	return nil
}
