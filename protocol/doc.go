// Package protocol is the drain protocol of one worker process as a value: a state machine
// that is told what happened and says what to do. It does no I/O, starts no goroutine, reads
// no clock and draws no random number, so the same code runs in production, in a simulation
// of thousands of workers, under a search of every order of events, and in a replay.
//
// # What it promises
//
// From the first stop on no new job is asked for, running jobs go on while they fit, and
// what does not fit is cancelled early enough to be undone and handed back before SIGKILL.
// A claim is kept alive until it is settled and is never handed back while its handler runs.
// A worker that lost its lease learns it before anything else. Exit comes no later than
// settleBy, and status 0 means that nothing is held. Equal machines given equal events agree;
// Step allocates nothing.
//
// # What it does not promise
//
// A job may run twice: a lease can expire under a worker that is paused, or cut off, or told
// too late. The fencing token then decides whose result counts, and deciding is the broker's
// work. Nor does a drain always succeed: a deaf handler, an absent broker or an early SIGKILL
// leaves claims to their leases. The lease is the guarantee, the drain is the shortcut.
// A surplus grant, for which there is no slot, is released once and not again. A cursor whose
// saving is out while its handler returns may be stored although undo reaches back beyond it;
// a driver that wants it kept waits for CommitSegment before it lets the handler return.
//
// # How a driver uses it
//
//	m.Init(&cfg, NewMemory(&cfg, slots), seed)
//	fx := NewEffects(slots, cfg.Queues)
//	for m.Phase() != PhaseGone {
//	    ev := the next thing that happened, or Event{} when m.Deadline() has come
//	    fx.Reset()
//	    m.Step(now(), ev, fx)
//	    for _, e := range fx.All() {
//	        carry e out, never waiting; its answer is a later event and hands e.At back as Sent
//	    }
//	}
//
// The driver decides nothing. An answer about several jobs is one Granted for each and a
// closing ClaimAnswered, stepped with nothing in between. Silence is no event: the machine
// has its own deadlines. A broker call that fails is answered Unknown, and not repeated by
// the driver.
//
// # The nineteen rules
//
//  1. Stop claiming first. Claim requests are sent in Serving and nowhere else. (ask, asks)
//  2. An answer counts only for the request that is out and not withdrawn; any other is
//     ignored whole. A job granted after the stop or in Quiet is handed back, unless
//     LateClaim has it run. (answered, runsNow)
//  3. A claim request can be repeated under its id and withdrawn. After a Withdraw was sent
//     its answer is never run, and no new id is used before it was answered. (withdraw)
//  4. Finish what fits. A stop alone ends no handler and no renewal. (beginDrain)
//  5. Every deadline comes from the supervisor's budget: killAt, and before it exitBy,
//     settleBy, undoBy and a cancelAt for each kind. Settling is the last to be cut short.
//     SIGKILL moved nearer counts at once, moved away only until the first cancel.
//     (plan, cancelAt, rebase, firstKillAt)
//  6. A claim ends with one verb, which never changes once it was sent; the broker's token
//     judges it. An answer that says the claim ended elsewhere ends the settling and is no
//     loss. (settle, claimEnded)
//  7. Undo before release. After a loss only private hooks run. Undo that fails or outlives
//     its slice ends in quarantine. (undoThen, endUndo, restrictUndo)
//  8. A claim is never settled before its handler has returned, and a job is not started
//     beside an earlier execution of it in this process. (onHandlerReturned, runsHere)
//  9. Heartbeats outlive handlers: renewal ends when the claim is settled or lost, not when
//     the work is cancelled. (keepsAlive, renewable)
//  10. A worker distrusts its lease: trust is counted from an instant that is surely not
//     after the grant, less drift and margin. A handler is cancelled its gap before trust
//     ends once two renewals were missed, and at the end of trust in any case. A broker
//     that was away may have forgotten: every claim is renewed soon after it is back.
//     (trustFrom, distrusts, loseTrust, onReconnected)
//  11. Settling is retried until it is answered or settleBy has come. (settleAgain)
//  12. Every component that holds a lease drains too. Not in this machine: it is kept by
//     whatever composes several components on one budget.
//  13. Stops have several sources, and only the repeat of an OS signal escalates: SIGTERM in
//     groups of a second, SIGINT each. The second hurries, the third SIGINT exits at once,
//     and a first signal after a notice only moves SIGKILL nearer. (countSignal, onStopAgain)
//  14. Refuse what you do not understand: a kind or version outside the configured range goes
//     back with a delay and without blame. (understands)
//  15. Boot does not trust the dead and does not disturb the living. Not in this machine,
//     which only registers: waiting for exclusive resources is the driver's.
//  16. Progress survives: a saved cursor rides on the next renewal, or goes at once, and only
//     the broker's answer closes the segment. A cursor still pending when undo begins is
//     dropped, because what it stands for is undone. (onSaveAsked, cursorStored, undoThen)
//  17. A handler is told twice, softly at the stop and then by a cancel with its cause, and
//     what it returns is read in that light. (soften, cancel, judgeReturn)
//  18. Every drain leaves a ledger: one line for each slot and request that was open at the
//     stop, written by the time of Exit. (openLedger, line, closeLedger)
//  19. Deploys do not eat budgets: at the first stop each queue is told once that this
//     incarnation is Going. Counting interruptions and starving jobs is the broker's. (beginDrain)
//
// # The state table
//
// The machine is a product of three small ones: the phase, one claim request per queue, and
// the slots. An event changes one of them; then the phase advances by itself (below). A cell
// says what happens to the part the table is about:
//
//	→ X    moves to X
//	stay   does not move, but something is sent or remembered
//	·      ignored: nothing is sent, nothing changes
//	✗      impossible, panics: only a defect of the driver can bring it about
//	–      cannot arise
//
// Nothing that came over a wire, and nothing a person or a platform sends, is ever ✗. A test
// compares each cell with the code.
//
// Phases. Draining and Cancelling advance to Settling as soon as no handler and no undo runs
// and no request is out whose grant would be run; Settling to Gone when every slot is Free and
// every request is None. Cancelling begins with the first cancel that the drain makes. A
// worker that refuses to notice stops (OnStop ignore) is never wedged, either.
//
//	PHASE                                   Booting    Serving       Quiet         Draining      Cancelling  Settling  Gone
//	registered ok                           → Serving  ·             ·             ·             ·           ·         ·
//	registered ok, quiet asked for          → Quiet    –             –             –             –           –         –
//	registered unknown                      stay       ·             ·             ·             ·           ·         ·
//	registered refused                      → Gone     ·             ·             ·             ·           ·         ·
//	no answer to Register                   stay       –             –             –             –           –         –
//	quiet                                   stay       → Quiet       ·             ·             ·           ·         ·
//	resume                                  ·          ·             → Serving     ·             ·           ·         ·
//	reconnected                             ·          stay          stay          stay          stay        stay      ·
//	first stop, OnStop finish               → Gone     → Draining    → Draining    –             –           –         ·
//	first stop, OnStop cancel               → Gone     → Cancelling  → Cancelling  –             –           –         ·
//	first stop, OnStop die                  → Gone     → Gone        → Gone        –             –           –         ·
//	first stop, OnStop ignore               ·          ·             ·             –             –           –         ·
//	stop of another source                  –          –             –             ·             ·           ·         ·
//	stop of another source, SIGKILL nearer  –          –             –             stay          stay        stay      ·
//	first signal after a notice             –          –             –             stay          stay        stay      ·
//	SIGTERM within 1s of its group          –          –             –             ·             ·           ·         ·
//	SIGTERM, second group                   –          –             –             → Cancelling  stay        stay      ·
//	SIGTERM, third group                    –          –             –             –             ·           ·         ·
//	SIGINT, second                          –          –             –             → Cancelling  stay        stay      ·
//	SIGINT, third                           –          –             –             –             → Gone      → Gone    ·
//	SIGKILL moved nearer                    ·          ·             ·             stay          stay        stay      ·
//	SIGKILL moved away                      ·          ·             ·             stay          ·           ·         ·
//	handler returned, the last              ✗          stay          stay          → Settling    → Settling  stay      ✗
//	settle answered, the last               ·          ·             ·             ·             ·           → Gone    ·
//	cancelAt of a kind                      –          –             –             → Cancelling  stay        –         –
//	cancelAt of a kind, AtDeadline die      –          –             –             → Gone        –           –         –
//	undoBy                                  –          –             –             → Settling    → Settling  –         –
//	settleBy                                –          –             –             –             –           → Gone    –
//	every slot wedged                       –          → Draining    → Draining    –             –           –         –
//	estimate                                stay       stay          stay          stay          stay        stay      ·
//	tick                                    ·          ·             ·             ·             ·           ·         ·
//
// Requests. After an answer that granted something, or was parked in full, the next request
// goes out at once, under a new id (→ Asked); after an empty one there is a backoff. A job that
// is granted and not run still takes a Free slot, in Settling. What is beyond the number
// asked for, or finds no Free slot, is released without one. A request asks for as many jobs
// as there are Free slots; where the broker is known to answer settlements before the claim
// that follows them, also for those whose first settling is out.
//
//	REQUEST                                None     Asked          Withdrawing
//	poll backoff over                      → Asked  –              –
//	poll backoff over, not Serving         –        –              –
//	stop, LateClaim return                 ·        → Withdrawing  stay
//	stop, LateClaim run or runIfShort      ·        stay           stay
//	stop, broker cannot withdraw           ·        stay           –
//	quiet, LateClaim return                ·        → Withdrawing  ·
//	quiet, LateClaim run or runIfShort     ·        ·              ·
//	resume                                 ·        ·              ·
//	granted, within want                   ·        stay           ·
//	granted, under another id              ·        ·              ·
//	granted, beyond want                   ·        stay           ·
//	answered ok, granted, slots left       ·        → Asked        ·
//	answered ok, granted, no slot left     ·        → None         ·
//	answered ok, nothing, parked in full   ·        → Asked        ·
//	answered ok, nothing, early            ·        → None         ·
//	answered refused                       ·        → None         ·
//	answered ok or refused, not Serving    ·        → None         ·
//	answered unknown, first attempt        ·        stay           ·
//	answered unknown, second attempt       ·        → Withdrawing  ·
//	answered unknown, not Serving          ·        → Withdrawing  ·
//	silence, first attempt                 –        stay           –
//	silence, second attempt                –        → Withdrawing  –
//	silence, not Serving                   –        → Withdrawing  –
//	silence, not Serving, cannot withdraw  –        → None         –
//	withdraw answered ok                   ·        ·              → Asked
//	withdraw answered ok, not Serving      ·        ·              → None
//	withdraw answered unknown              ·        ·              ·
//	no answer to Withdraw                  –        –              stay
//	settleBy                               ·        → None         → None
//
// Slots. A claim is lost when trust in it ends, when it expired, and when it was taken: the
// broker knows a newer token, or an end of the claim that is not ours. A slot in which undo
// hooks run on although its claim is settled is a Zombie until they return; its line of the
// ledger then says how the claim ended. A grant is not run when it is not understood, when an
// earlier execution of its job still runs here, when it is late, and when trust in it has
// ended already. "Clean" means nothing to undo and nothing to commit. The limit of an undo is
// undoBy at the latest, and fires before it.
//
//	SLOT                                Free        Running      Cancelled   Undoing     Settling  Settling, undo runs
//	granted, run                        → Running   ·            ·           ·           ·         ·
//	granted, not understood or not run  → Settling  ·            ·           ·           ·         ·
//	returned nil, clean                 ✗           → Settling   → Settling  ✗           ✗         ✗
//	returned nil, not clean             ✗           → Settling   → Settling  ✗           ✗         ✗
//	returned otherwise, clean           ✗           → Settling   → Settling  ✗           ✗         ✗
//	returned otherwise, not clean       ✗           → Undoing    → Undoing   ✗           ✗         ✗
//	undo done                           ✗           ✗            ✗           → Settling  ✗         stay
//	undo skipped shared hooks           ✗           ✗            ✗           ✗           ✗         stay
//	undo failed                         ✗           ✗            ✗           → Settling  ✗         stay
//	undo limit                          –           –            –           → Settling  –         –
//	save                                ✗           stay         stay        ✗           ✗         ✗
//	saved ok                            ·           stay         stay        ·           ·         ·
//	saved expired                       ·           → Zombie     → Zombie    stay        ·         stay
//	saved stale or closed               ·           → Zombie     → Zombie    stay        → Free    → Zombie
//	saved unknown                       ·           ·            ·           ·           ·         ·
//	renewal round                       ·           stay         stay        stay        stay      stay
//	renewed ok                          ·           stay         stay        stay        stay      stay
//	renewed, cancel ordered             ·           → Cancelled  stay        stay        stay      stay
//	renewed expired                     ·           → Zombie     → Zombie    stay        ·         stay
//	renewed stale or closed             ·           → Zombie     → Zombie    stay        → Free    → Zombie
//	renewed unknown                     ·           stay         stay        stay        stay      stay
//	operator cancel                     ·           → Cancelled  ·           ·           ·         ·
//	distrust                            –           → Cancelled  –           –           –         –
//	trust ends                          –           → Zombie     → Zombie    stay        –         stay
//	kind's timeout                      –           → Cancelled  –           –           –         –
//	settled ok or repeat                ·           ·            ·           ·           → Free    → Zombie
//	settled stale or closed             ·           ·            ·           ·           → Free    → Zombie
//	settled unknown                     ·           ·            ·           ·           stay      stay
//	settling round                      ·           ·            ·           ·           stay      stay
//	any answer for another token        ·           ·            ·           ·           ·         ·
//	any answer for another job          ·           ·            ·           ·           ·         ·
//	first stop                          ·           stay         stay        stay        stay      stay
//	first stop, OnStop die              ·           → Leaked     → Leaked    → Leaked    → Leaked  → Leaked
//	cancelAt of its kind                –           → Cancelled  –           –           –         –
//	hurry                               ·           → Cancelled  ·           ·           ·         ·
//	undoBy                              –           –            stay        –           –         ·
//	settleBy                            ·           –            → Leaked    –           → Leaked  → Leaked
//
// The same rows for slots whose claim is gone. Leaked is what any slot that was not Free
// becomes when the worker goes.
//
//	LOST                                Undoing, lost  Undoing, taken  Zombie      Zombie, taken  Zombie, undo runs  Leaked
//	granted, run                        ·              ·               ·           ·              ·                  ·
//	granted, not understood or not run  ·              ·               ·           ·              ·                  ·
//	returned nil, clean                 ✗              ✗               → Settling  → Free         ✗                  ·
//	returned nil, not clean             ✗              ✗               → Undoing   → Undoing      ✗                  ·
//	returned otherwise, clean           ✗              ✗               → Settling  → Free         ✗                  ·
//	returned otherwise, not clean       ✗              ✗               → Undoing   → Undoing      ✗                  ·
//	undo done                           → Settling     → Free          ✗           ✗              → Free             ·
//	undo skipped shared hooks           → Free         → Free          ✗           ✗              → Free             ·
//	undo failed                         → Free         → Free          ✗           ✗              → Free             ·
//	undo limit                          → Zombie       → Zombie        –           –              –                  –
//	save                                ✗              ✗               stay        stay           ✗                  ·
//	saved ok                            ·              ·               ·           ·              ·                  ·
//	saved expired                       ·              ·               ·           ·              ·                  ·
//	saved stale or closed               stay           ·               stay        ·              ·                  ·
//	saved unknown                       ·              ·               ·           ·              ·                  ·
//	renewal round                       ·              ·               ·           ·              ·                  –
//	renewed ok                          ·              ·               ·           ·              ·                  ·
//	renewed, cancel ordered             ·              ·               ·           ·              ·                  ·
//	renewed expired                     ·              ·               ·           ·              ·                  ·
//	renewed stale or closed             stay           ·               stay        ·              ·                  ·
//	renewed unknown                     ·              ·               ·           ·              ·                  ·
//	operator cancel                     ·              ·               ·           ·              ·                  ·
//	distrust                            –              –               –           –              –                  –
//	trust ends                          –              –               –           –              –                  –
//	kind's timeout                      –              –               –           –              –                  –
//	settled ok or repeat                ·              ·               ·           ·              ·                  ·
//	settled stale or closed             ·              ·               ·           ·              ·                  ·
//	settled unknown                     ·              ·               ·           ·              ·                  ·
//	settling round                      ·              ·               ·           ·              ·                  –
//	any answer for another token        ·              ·               ·           ·              ·                  ·
//	any answer for another job          ·              ·               ·           ·              ·                  ·
//	first stop                          stay           stay            stay        stay           stay               –
//	first stop, OnStop die              → Leaked       → Leaked        → Leaked    → Leaked       → Leaked           –
//	cancelAt of its kind                –              –               –           –              –                  –
//	hurry                               ·              ·               stay        stay           ·                  –
//	undoBy                              –              –               stay        stay           ·                  –
//	settleBy                            –              –               → Leaked    → Leaked       → Leaked           –
//
// How a claim ends, by what the handler returned and the state it returned from; the columns
// between Running and Zombie are Cancelled with a cause. The verb is sent at once after a
// clean return and after undo otherwise; undo that fails makes it quarantine. A Zombie whose
// claim was taken sends nothing.
//
//	RETURN           Running        draining       hurry          lease-lost        timeout  cancelled          Zombie
//	nil, clean       ack            ack            ack            ack               ack      ack                ack
//	nil, not clean   ack            ack            ack            ack               ack      ack                release distrust
//	yield            release yield  release drain  release hurry  release distrust  fail     release cancelled  release distrust
//	error            fail           release drain  release hurry  release distrust  fail     release cancelled  release distrust
//	failed or panic  fail           fail           fail           fail              fail     fail               fail
//
// Deadlines. Of those that are due, losses of trust fire first, then the earliest, then the
// one higher up in this table. After a Step nothing is due.
//
//	DEADLINE            Booting  Serving  Quiet  Draining  Cancelling  Settling  Gone  while
//	trust ends          –        armed    armed  armed     armed       armed     –     a slot Running, Cancelled, Undoing or Settling under undo hooks, not lost
//	Register again      armed    –        –      –         –           –         –     until the broker answers
//	request due         –        armed    armed  armed     armed       armed     –     None: the backoff, in Serving; Asked: park + reply; Withdrawing: the repeat
//	renewal round       –        armed    armed  armed     armed       armed     –     from the first grant, as long as a claim is kept alive; soon after a reconnection
//	distrust            –        armed    armed  armed     armed       –         –     Running, two renewals missed: gap before trust ends
//	kind's timeout      –        armed    armed  armed     armed       –         –     Running, the kind has one
//	undo limit          –        armed    armed  armed     armed       –         –     Undoing
//	settling round      –        armed    armed  armed     armed       armed     –     a slot Settling; one backoff for all
//	weighing round      –        –        –      armed     armed       –         –     Estimates adaptive
//	cancelAt of a kind  –        –        –      armed     armed       –         –     Running
//	undoBy              –        –        –      armed     armed       –         –     the policy has a deadline
//	settleBy            –        –        –      armed     armed       armed     –     the policy has a deadline
//	wedged              –        armed    armed  –         –           –         –     every slot Cancelled or Zombie: a lease after the last was told
//
// Policies. OnStop die and AtDeadline die give no effect but notes, ledger lines and Exit.
// Deadline none arms no cancelAt, undoBy or settleBy, and settling is then retried for ever.
// A stop in Booting exits at once, because nothing is held.
package protocol
