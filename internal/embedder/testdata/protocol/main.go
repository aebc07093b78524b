// A stranger's program around the bare machine: one job, a SIGTERM, and rest.
package main

import (
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

func main() {
	cfg := protocol.Config{
		Kinds: []protocol.KindConfig{{MinVersion: 1, MaxVersion: 1, Gap: protocol.Second, Undo: protocol.Second}},
		Grace: 30 * protocol.Second,
	}.WithDefaults()
	var m protocol.Machine
	m.Init(&cfg, protocol.NewMemory(&cfg, 1), 0)
	fx := protocol.NewEffects(1, cfg.Queues)

	for i, ev := range []protocol.Event{
		{},
		protocol.RegisteredAs(1, protocol.OK),
		protocol.GrantedJob(0, 1, 7, 3, 0, 1, 0),
		protocol.ClaimClosed(0, 1, protocol.OK, 0),
		protocol.StopBySignal(protocol.SIGTERM, protocol.Never),
		protocol.Returned(0, protocol.ReturnedNil, false),
		protocol.Settled(0, 7, 3, protocol.OK),
	} {
		fx.Reset()
		m.Step(protocol.Instant(i)*protocol.Instant(protocol.Second), ev, fx)
	}
	fmt.Println(m.Phase(), "status", m.Status())
}
