// Package brokertest is the conformance kit for worker.Broker. It gives one history of
// operations to the broker under test and to the reference broker of package model, and
// compares every answer; and it plays the named interleavings in which brokers go wrong.
//
// A broker's own test wraps the broker as a [Subject] and calls [Run]:
//
//	func TestConformance(t *testing.T) {
//		brokertest.Run(t, func(t brokertest.TB, cfg brokertest.Config) brokertest.Subject {
//			return openOnAFreshPrefix(t, cfg)
//		})
//	}
//
// The function is called several hundred times, so opening should be cheap: an empty set of
// queues on a server that is shared by all of them is enough. What it opens is closed by
// t.Cleanup.
//
// # Time
//
// The broker's clock is a fake that reads Config.Start when the subject is opened and that
// only [Subject.Advance] moves. Nothing that depends on the time of the real world may be
// visible: Start may be an hour or years away from it. All durations are multiples of a
// millisecond, and a lease or a delay is over at its end: at the very instant at which the
// clock reads its end, not a millisecond later.
//
// Advance moves the clock and then lets the broker do all that is due by itself: it notices
// every lease that has run out, makes delayed jobs claimable, and ends long polls that have
// lasted their time. It returns when that is done. How a real broker does this without being
// told (a mover, a claim that looks first) is its own affair.
//
// # What is compared
//
// Every code, error and grant; of each grant the job, kind, version, payload, cursor and
// Prior; the state and the counts of each job. Of tokens only their order: each grant of a
// job has a larger token than the one before. Errors are of two kinds, worker.ErrRefused and
// none: the kit's operations never fail otherwise.
//
// Prior is the newest claim of the job that may have been an execution. A claim that was
// handed back late, withdrawn, refused or busy never was one, and leaves Prior as it was.
// Prior.Reason is the reason of the settlement, or expired or cut; a failure has none.
//
// A job that was done or cancelled is asked for its state only; what a broker forgets about
// it is its own affair, as long as repeats are recognised for Config.Keep.
//
// # What is left open
//
//   - Whether an earlier life of a seat may claim once a later one has registered. What it
//     holds it may renew and settle in any case.
//   - What Withdraw answers a stranger: no jobs, or worker.ErrRefused.
//   - Whether jobs of kinds that a request does not name are kept from it.
//   - What happens after Config.Keep.
//
// # What a subject may lack
//
// Capabilities of the broker that are missing are skipped by their name. A subject that does
// not implement [Parker] or [Replica] has the cases that need them skipped.
package brokertest
