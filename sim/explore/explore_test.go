package explore

import (
	"fmt"
	"testing"
	"time"

	"github.com/quiesce/quiesce/internal/deviation"
)

func TestLate(t *testing.T) {
	w := TwoByTwo()
	w.MessageLife = tick
	w.Lease = 8 * tick
	start := time.Now()
	rep := Run(w, 5_000_000)
	fmt.Println(time.Since(start), rep.States, rep.Transitions, rep.Depth, rep.Complete, rep.Broken)
	for _, l := range rep.Story {
		fmt.Println(l)
	}
}

func TestDev(t *testing.T) {
	for _, d := range deviation.All() {
		w := TwoByTwo()
		w.Deviations = deviation.Of(d)
		start := time.Now()
		rep := Run(w, 2_000_000)
		fmt.Println(d, time.Since(start), rep.States, rep.Transitions, rep.Depth, rep.Complete, rep.Broken, len(rep.Story))
	}
}
