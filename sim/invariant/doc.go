// Package invariant watches a run from outside and says which promise of the protocol it saw
// kept, and which it saw broken: at which step, about which job and worker, in one sentence.
//
// A [Checker] is told what is given to each machine and what that asks for, what the broker is
// asked and does, and what befalls processes. It never looks at what a machine believes; the
// only state it reads is the broker's rows. Every invariant has a small function of its own,
// called at the one moment at which it can break. Nothing is allocated per event once warm.
//
// An invariant is held when there were occasions to break it, broken when one was taken, and
// undecided otherwise. What is not promised in a world is undecided there as a whole: the
// matrix of [Fault] says which promise goes with which fault. What a crash, a pause or a lost
// message excuses is judged case by case.
//
// Rules 12 and 15 are not kept by the machine, and have no invariant here.
package invariant
