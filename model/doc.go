// Package model is the world around a worker in miniature: the reference broker, the
// supervisors that stop processes and the rollouts that replace them, and the scenario that
// puts them together. Everything in it is a value. It reads no clock, starts no goroutine
// and draws nothing: the same calls give the same answers, whoever makes them.
//
// # The broker
//
// [Broker] is the specification that real brokers are compared with: one queue, on its own
// clock, which is the now of its calls. A [Request] is an effect of package protocol and who
// sent it; what it brings about is collected in an [Outbox], as answers on their way to
// workers and as facts that only the broker knows. Requests may arrive late, twice, out of
// order and from the dead; none is impossible.
//
// It promises, as long as it forgets nothing:
//
//   - A job that was enqueued is ready, claimed or delayed until it is done, dead-lettered,
//     quarantined or cancelled, and in one of these at a time.
//   - At most one claim of a job is open and within its lease.
//   - A job's tokens grow with every claim. An older one changes nothing.
//   - A claim ends once. The first verb wins, and its repeat is told so.
//   - What was handed out under a withdrawn request is claimable again, and the request is
//     refused should it arrive later.
//   - A job that comes back has its old place in the queue. It prefers a waiting worker of a
//     newer generation than the one it comes from, and takes any.
//   - After Tick, Deadline is later than now.
//
// After [Broker.Forget], a failover that loses the newest writes, neither the first nor the
// second is promised. The third is, as long as the new primary's clock is not behind the
// newest token: a token is max(last+1, the clock in microseconds).
//
// # Claims of a request
//
// A request is named by its incarnation and a number that grows. The broker remembers the
// newest two lives of a seat, and of each the newest request.
//
//	request                  answer
//	new                      ok, with up to Want jobs, or waits
//	new, going               refused
//	newest, answered         ok, with those of its jobs that it still holds
//	newest, waiting          none: one answer is to come
//	older                    refused
//	withdrawn                refused
//	of a stranger            refused
//
// A long poll that is served says how long it waited; so does its repeat.
//
// # What is answered about a claim
//
// Expired means that the lease ran out and nobody took the job. Ended by expiry means that
// it ran out and the job was dead-lettered or quarantined for that; cancelled, that an
// operator cancelled it after it ran out. Closed comes in two: by the same verb or another.
//
//	request     open  expired  ended by expiry  cancelled  closed, same  closed, other  older token
//	renew       ok    expired  expired          expired    closed        closed         stale
//	save        ok    expired  expired          expired    closed        closed         stale
//	ack         ok    ok       ok               closed     repeat        closed         stale
//	release     ok    ok       closed           closed     repeat        closed         stale
//	fail        ok    ok       closed           closed     repeat        closed         stale
//	refuse      ok    ok       closed           closed     repeat        closed         stale
//	quarantine  ok    ok       closed           closed     repeat        closed         stale
//
// A renewal of a job that an operator wants cancelled is answered cancel and extends the
// lease. When its holder lets go of it in a way that would make it claimable again, the job
// is cancelled instead.
//
// When a lease is over depends on [Rescue]: by expiry it is over at its end, noticed by the
// next new claim request or tick; by sweep not before a sweep finds it; else never. What then
// becomes of the job [OnExpiry] says for the queue; and quarantine is what it becomes in any case
// when the request that it was granted to said so of its kind ([Broker.QuarantineOnExpiry]).
//
// # What is counted
//
// Deliveries, failures and interruptions are never mixed. Failures spend MaxFailures, poison
// spends Poison, deliveries spend MaxAttempts and only with CountAtClaim, and fruitless is
// reported once when it reaches Starving and spends nothing.
//
//	event                  deliveries  failures  poison  fruitless
//	claimed                +1          ·         ·       ·
//	renewed                ·           ·         ·       ·
//	cursor saved           ·           ·         0       0
//	acked                  ·           ·         ·       ·
//	failed                 ·           +1        0       0
//	released: drain        ·           ·         0       +1
//	released: hurry        ·           ·         0       +1
//	released: yield        ·           ·         0       +1
//	released: distrust     ·           ·         0       +1
//	released: late-claim   ·           ·         ·       ·
//	released: withdrawn    ·           ·         ·       ·
//	released: busy         ·           ·         ·       ·
//	refused                ·           ·         ·       ·
//	quarantined            ·           ·         ·       ·
//	expired                ·           ·         +1      +1
//	cut                    ·           ·         ·       +1
//
// A claim that is released after it expired counts as one interruption, the expiry.
//
// # What is left out
//
//   - A broker has one queue; a world with several has several brokers.
//   - Claims are not filtered by the kinds and versions a worker understands: workers refuse.
//   - No priorities, no fairness between kinds, no dependencies, no scheduled jobs, no dead
//     letters moved back: dead-lettered and quarantined rows stay, and are never handed out.
//   - Under [NoRescue] an operator's cancel waits for a holder that may be dead.
//   - Members are not part of a failover: incarnations, closed requests and who is going
//     outlive it, so the forgetful broker is a little better than a real one.
//   - A seat that is lived in twice again within one lease makes the broker forget that its
//     earlier life was going; expiry of that life's claims is then poison.
//   - Rows of done and cancelled jobs are dropped MaxMessageAge after their end. A repeat
//     that is later still is stale.
//   - A supervisor's process has one container; kubelet's minimum of two seconds for a grace
//     that is nearly used up by its hook is left out, as its documentation does. A rollout
//     sees counts, not pods: which seat moves is the caller's business.
package model
