// Package explore searches small worlds completely: every order in which messages arrive, are
// lost or doubled, calls fail, handlers end, timers fire, processes crash or sleep, and people
// and platforms tell a worker to stop.
//
// The machine and the reference broker are the very ones that the simulator and production
// run. Time is part of the state: deadlines fire when they are due and before time goes on,
// unless their process is paused; messages may be late up to their maximum life; handlers and
// undo hooks take as long as they like. States are recognised by their canonical form, in
// which instants are relative and numbers that only grow are replaced by their ranks, so that
// a world without a horizon still has finitely many states. The same bytes are what the
// search keeps of a state and makes it of again.
//
// Of most actions only one process, or the broker, can tell. What came of the same parts before,
// beside others, is remembered for a while, and not made again (memo.go). What is new of a
// process is made without the rest of the state (alone.go).
//
// The search is breadth first, so a counter-example is as short as any. Liveness is judged at
// the end, when every state is known: from each the schedule without faults must come to an
// end. Nothing here starts a goroutine; whoever calls may run the parts of a search at once,
// and finds the same.
package explore
