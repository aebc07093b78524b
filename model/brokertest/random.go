package brokertest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// random gives random histories to the broker and to the reference broker. What the network
// of a fleet may bring, it brings: requests that are repeated, late or from the dead, and
// operations about claims that ended long ago. A history that fails is made as short as
// possible and printed.
func random(t TB, open Open) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDuel(t, open, drawConfig(t))
		for _, seat := range []string{"a", "b", "c"} {
			d.register(seat, rapid.Uint32Range(1, 3).Draw(t, "generation"))
		}
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			d.enqueue()
		}
		for range 3 { // long enough for a job to see its limits
			t.Repeat(d.actions())
		}
	})
}

// actions are what may happen next, some of them more often than others.
func (d *duel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enqueue":  func(*rapid.T) { d.enqueue() },
		"claim":    d.drawClaim,
		"claim 2":  d.drawClaim,
		"claim 3":  d.drawClaim,
		"claim 4":  d.drawClaim,
		"repeat":   d.drawRepeat,
		"withdraw": d.drawWithdraw,
		"renew":    d.drawRenew,
		"renew 2":  d.drawRenew,
		"save":     d.drawSave,
		"settle":   d.drawSettle,
		"settle 2": d.drawSettle,
		"settle 3": d.drawSettle,
		"fail":     d.drawFail,
		"fail 2":   d.drawFail,
		"advance":  d.drawAdvance,
		"next":     d.drawNext,
		"next 2":   d.drawNext,
		"next 3":   d.drawNext,
		"going":    d.drawGoing,
		"register": d.drawRegister,
		"cancel":   d.drawCancel,
	}
}

const shortLease = 100 * time.Millisecond

// drawConfig draws settings in which every limit is near.
func drawConfig(t *rapid.T) Config {
	return Config{
		Start:       begin,
		Lease:       shortLease,
		OnExpiry:    rapid.SampledFrom([]model.OnExpiry{model.Redeliver, model.Redeliver, model.Redeliver, model.QuarantineExpired}).Draw(t, "on expiry"),
		MaxFailures: rapid.IntRange(0, 3).Draw(t, "max failures"),
		Poison:      rapid.IntRange(0, 3).Draw(t, "poison"),
		Starving:    rapid.IntRange(0, 3).Draw(t, "starving"),
		BackoffMin:  rapid.SampledFrom([]time.Duration{20 * time.Millisecond, 50 * time.Millisecond}).Draw(t, "backoff"),
		BackoffMax:  70 * time.Millisecond,
		Keep:        keep,
	}
}

// drawLife draws a life, among them those that were superseded.
func (d *duel) drawLife(t *rapid.T) *life {
	return d.lives[len(d.lives)-1-rapid.IntRange(0, len(d.lives)-1).Draw(t, "lives ago")]
}

// drawClaim sends a new request of a seat's newest life, now and then one with a number that
// leaves some out.
func (d *duel) drawClaim(t *rapid.T) {
	l := d.drawLife(t)
	if l.superseded {
		return // what an earlier life may still claim is left open
	}
	l.seq += rapid.SampledFrom([]uint64{1, 1, 1, 2}).Draw(t, "seq")
	d.claim(l, l.seq, rapid.IntRange(1, 3).Draw(t, "want"), drawExpiry(t))
}

// drawRepeat sends a request once more, the newest or an older one.
func (d *duel) drawRepeat(t *rapid.T) {
	l := d.drawLife(t)
	if l.superseded || l.seq == 0 {
		return
	}
	d.claim(l, l.seq-min(l.seq-1, rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "ago")), rapid.IntRange(1, 3).Draw(t, "want"), drawExpiry(t))
}

// drawExpiry draws what a request says of the kind. A repeat may say something else, and that
// changes nothing about what it was granted.
func drawExpiry(t *rapid.T) worker.Expiry {
	if rapid.IntRange(0, 7).Draw(t, "expiry of the kind") == 7 {
		return worker.QuarantineOnExpiry
	}
	return worker.Redeliver
}

// drawWithdraw withdraws the newest request, one before it, or one that is still on its way.
func (d *duel) drawWithdraw(t *rapid.T) {
	if d.subject.Capabilities().NoWithdraw {
		return
	}
	l := d.drawLife(t)
	seq := int64(l.seq) + rapid.SampledFrom([]int64{0, 0, 0, 1, -1}).Draw(t, "seq")
	if seq > 0 {
		d.withdraw(l, uint64(seq))
	}
}

// drawAbout draws one of the claims, of which there are some: often one that is open, else
// mostly one of the newest.
func (d *duel) drawAbout(t *rapid.T) *claim {
	if open := d.open(); len(open) > 0 && rapid.Bool().Draw(t, "open") {
		return rapid.SampledFrom(open).Draw(t, "claim")
	}
	return d.claims[len(d.claims)-1-rapid.IntRange(0, min(len(d.claims)-1, 6)).Draw(t, "claims ago")]
}

func drawCursor(t *rapid.T) []byte {
	if s := rapid.SampledFrom([]string{"", "", "x", "y", "z"}).Draw(t, "cursor"); s != "" {
		return []byte(s)
	}
	return nil
}

func (d *duel) drawRenew(t *rapid.T) {
	if len(d.claims) == 0 {
		return
	}
	batch := make([]renewal, rapid.IntRange(1, 3).Draw(t, "renewals"))
	for i := range batch {
		batch[i] = renewal{d.drawAbout(t), drawCursor(t)}
	}
	d.renew(batch)
}

func (d *duel) drawSave(t *rapid.T) {
	if len(d.claims) == 0 {
		return
	}
	c := d.drawAbout(t)
	d.save(renewal{c, []byte(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "cursor"))})
}

var drawnReasons = []protocol.Reason{
	protocol.BecauseDrain, protocol.BecauseHurry, protocol.BecauseYield, protocol.BecauseDistrust, protocol.BecauseLate,
	protocol.BecauseBusy, protocol.BecauseCancelled,
}

// drawFail reports a failure of the newest claim or one shortly before it.
func (d *duel) drawFail(t *rapid.T) {
	if len(d.claims) > 0 {
		d.settle([]ending{{d.drawAbout(t), settlement(protocol.Fail)}})
	}
}

func (d *duel) drawSettle(t *rapid.T) {
	if len(d.claims) == 0 {
		return
	}
	batch := make([]ending, rapid.IntRange(1, 3).Draw(t, "settlements"))
	for i := range batch {
		e := ending{claim: d.drawAbout(t)}
		e.Settlement = settlement(rapid.SampledFrom([]protocol.Verb{
			protocol.Ack, protocol.Release, protocol.Release, protocol.Release, protocol.Fail, protocol.Refuse, protocol.Quarantine,
		}).Draw(t, "verb"))
		if e.Verb == protocol.Release {
			e.Reason = rapid.SampledFrom(drawnReasons).Draw(t, "reason")
		}
		if e.Verb == protocol.Release || e.Verb == protocol.Refuse {
			e.Delay = rapid.SampledFrom([]time.Duration{0, 0, 40 * time.Millisecond, shortLease}).Draw(t, "delay")
		}
		e.Cursor = drawCursor(t)
		batch[i] = e
	}
	d.settle(batch)
}

func (d *duel) drawAdvance(t *rapid.T) {
	d.advance(rapid.SampledFrom([]time.Duration{
		time.Millisecond, 10 * time.Millisecond, shortLease / 2, shortLease - time.Millisecond, shortLease, 3 * shortLease,
	}).Draw(t, "later"))
}

// drawNext moves the clock to the next end of a lease or delay, or to just before it.
func (d *duel) drawNext(t *rapid.T) {
	next := d.next()
	if next <= 0 {
		return
	}
	if rapid.Bool().Draw(t, "just before") {
		next -= time.Millisecond
	}
	d.advance(next)
}

func (d *duel) drawGoing(t *rapid.T) { d.going(d.drawLife(t)) }

// drawRegister registers a life once more, or the second one of a seat; there are no third
// ones, since of a seat a broker need not know more than two.
func (d *duel) drawRegister(t *rapid.T) {
	l := d.drawLife(t)
	if l.superseded || l.second || rapid.Bool().Draw(t, "again") {
		d.registerAgain(l)
		return
	}
	l.superseded = true
	d.register(l.Seat, rapid.Uint32Range(1, 3).Draw(t, "generation")).second = true
}

func (d *duel) drawCancel(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "cancels") < 3 {
		return // or no job would get anywhere
	}
	d.cancel(rapid.IntRange(0, len(d.jobs)-1).Draw(t, "job"))
}

// renewal and ending are what is said about a claim.
type (
	renewal struct {
		claim  *claim
		cursor []byte
	}
	ending struct {
		claim *claim
		worker.Settlement
	}
)
