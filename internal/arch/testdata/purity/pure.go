// Package fixture has nothing to find.
package fixture

import (
	"errors"
	"fmt"
	"slices"
)

type instant int64

type machine struct {
	now  instant
	due  []instant
	seen map[uint64]int
}

var errLate = errors.New("late")

func (m *machine) step(now instant) error {
	if now < m.now {
		return fmt.Errorf("%d is before %d: %w", now, m.now, errLate)
	}
	m.now = now
	for i, d := range slices.Backward(m.due) {
		m.seen[uint64(i)] += int(d)
	}
	slices.Sort(m.due)
	return nil
}
