package realworld

import (
	"fmt"
	"os"
	"time"

	"github.com/quiesce/quiesce/internal/grace"
)

// Grace is what is known before a stop about the time between it and SIGKILL: the environment
// variable QUIESCE_GRACE (30s, or 30), which whoever deploys the worker sets, and otherwise
// option, which whoever wrote it chose. It is an error when neither says anything, since only
// the supervisor knows it. Once a stop comes better sources move SIGKILL: see the package.
func Grace(option time.Duration) (time.Duration, error) {
	v, given := os.LookupEnv(grace.Variable)
	switch {
	case given:
		return parseGrace(v)
	case option <= 0:
		return 0, fmt.Errorf("realworld: the grace is not known; set QUIESCE_GRACE to what the supervisor allows between SIGTERM and SIGKILL, less its preStop hook")
	default:
		return option, nil
	}
}

func parseGrace(v string) (time.Duration, error) {
	d, ok := grace.Parse(v)
	if !ok {
		return 0, fmt.Errorf("realworld: %s %q is not a grace; write for example 30s", grace.Variable, v)
	}
	return d, nil
}
