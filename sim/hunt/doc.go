// Package hunt looks for worlds in which a promise of the protocol is broken, and makes what it
// finds small enough to be read.
//
// Every seed draws a small scenario of its own ([Draw]): sizes, rates, policy, which faults there
// are at all, and timings far from what anybody would configure. It is run with every invariant
// watched, first as drawn and then on without faults until all jobs have come to their end
// ([Try]). What breaks is minimised ([Minimise]): a smaller world counts only if the same
// invariant is broken in it. What is left is a scenario, from which the same run can be made
// again on any machine, and a story of a few lines ([Tell]).
//
// A finding names its run by a policy, a seed and overrides of random numbers
// ([model.Finding]); nothing else is needed to make it again.
package hunt
