package protocol_test

import (
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// SIGTERM comes while a job runs. It does not fit into the grace, so its handler is cancelled
// in time; the job is handed back once the handler has returned, and the worker goes.
func Example() {
	cfg := protocol.Config{
		Kinds: []protocol.KindConfig{{MinVersion: 1, MaxVersion: 1, Gap: protocol.Second, Undo: protocol.Second}},
		Grace: 30 * protocol.Second,
	}.WithDefaults()
	var m protocol.Machine
	m.Init(&cfg, protocol.NewMemory(&cfg, 1), 0)
	fx := protocol.NewEffects(1, cfg.Queues)

	step := func(now protocol.Duration, ev protocol.Event) {
		fx.Reset()
		m.Step(protocol.Instant(now), ev, fx)
		for _, e := range fx.All() {
			fmt.Println(now, m.Phase(), e.Kind, e.Verb, e.Reason)
		}
	}
	step(0, protocol.Event{})
	step(0, protocol.RegisteredAs(1, protocol.OK))
	step(protocol.Second, protocol.GrantedJob(0, 1, 7, 3, 0, 1, 0))
	step(protocol.Second, protocol.ClaimClosed(0, 1, protocol.OK, 0))
	step(2*protocol.Second, protocol.StopBySignal(protocol.SIGTERM, protocol.Never))
	step(25*protocol.Second, protocol.Event{}) // m.Deadline() said so
	step(26*protocol.Second, protocol.Returned(0, protocol.ReturnedError, true))
	step(27*protocol.Second, protocol.Settled(0, 7, 3, protocol.OK))
	fmt.Println("status", m.Status())
	// Output:
	// 0s Booting Register - -
	// 0s Serving Claim - -
	// 1s Serving Start - -
	// 2s Draining Going - -
	// 2s Draining Soften - -
	// 25s Cancelling Note - -
	// 25s Cancelling Cancel - -
	// 26s Settling Settle release drain
	// 27s Gone Line - -
	// 27s Gone Exit - -
	// status 0
}
