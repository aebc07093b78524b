package lab

import (
	"errors"
	"fmt"
	"math"

	"github.com/quiesce/quiesce/model"
)

// ErrNoLoad reports a scenario whose load cannot be set.
var ErrNoLoad = errors.New("the load cannot be set")

// AtLoad returns a copy of a scenario that offers its fleet the given load: all gaps between
// arrivals are stretched alike, and jobs, their mix and everything else stay as they are.
func AtLoad(sc *model.Scenario, load float64) (*model.Scenario, error) {
	now := Load(sc)
	switch {
	case math.IsNaN(now):
		return nil, fmt.Errorf("%w: its jobs arrive when the trace says", ErrNoLoad)
	case now <= 0:
		return nil, fmt.Errorf("%w: no jobs arrive, or they are no work", ErrNoLoad)
	}
	// As a whole number, so that a last digit of the load does not decide an instant.
	const unit = 1_000_000
	factor := math.Round(now / load * unit)
	if factor < 1 || factor > unit*unit {
		return nil, fmt.Errorf("%w: a load of %.3g is too far from the scenario's own, %.3g", ErrNoLoad, load, now)
	}
	scaled := *sc
	scaled.Name = fmt.Sprintf("%s at load %.4g", sc.Name, load)
	scaled.Jobs = append([]model.Job(nil), sc.Jobs...)
	for i := range scaled.Jobs {
		j := &scaled.Jobs[i]
		if j.Arrivals == nil {
			continue
		}
		gaps, err := j.Arrivals.Stretched(uint64(factor), unit)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrNoLoad, j.Name, err)
		}
		if gaps.Max() < 1 {
			return nil, fmt.Errorf("%w: %s would arrive without end at one instant", ErrNoLoad, j.Name)
		}
		j.Arrivals = gaps
	}
	return &scaled, nil
}
