// Package crew has goroutines that are used again: one that makes a call over a network needs a
// deeper stack than a new one has, and growing it anew for each call costs as much as the rest of
// what it does.
package crew

// Crew is any number of goroutines, of which those that have nothing to do wait for more.
type Crew struct {
	work chan func()
	over <-chan struct{}
}

// New returns a crew without anybody. Whoever has nothing to do leaves once over is closed.
func New(over <-chan struct{}) Crew { return Crew{make(chan func()), over} }

// Go runs f in a goroutine as the statement does: in one that waits for work if there is one.
func (c Crew) Go(f func()) {
	select {
	case c.work <- f:
	default:
		go c.run(f)
	}
}

func (c Crew) run(f func()) {
	for {
		f()
		select {
		case f = <-c.work:
		case <-c.over:
			return
		}
	}
}
