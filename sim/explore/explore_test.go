package explore

import (
	"fmt"
	"testing"
	"time"
)

func TestTwoByTwo(t *testing.T) {
	start := time.Now()
	rep := Run(TwoByTwo(), 3_000_000)
	fmt.Println(time.Since(start), rep.States, rep.Transitions, rep.Depth, rep.Complete, rep.Broken)
	for _, l := range rep.Story {
		fmt.Println(l)
	}
}
