// Package advice tries what can be changed about a fleet, one change at a time, and says what
// each would bring.
//
// It begins with the fleet as it is and takes two steps and a check:
//
//  1. the ways of stopping, with all settings as they are;
//  2. with the best of those, each setting that can be changed, alone: lease, heartbeat, grace,
//     how often handlers look for their cancellation, saved progress, how a rollout replaces;
//  3. everything that was found to help, together.
//
// Every trial meets the same jobs, the same deploys and the same faults, and differences are
// taken in pairs; the statistics are those of the package lab. Between replications the deploys
// are moved, since jobs of a trace and their instants are always the same: what is uncertain is
// at which moment a deploy hits them.
//
// A change helps when something that is lost becomes clearly less and nothing clearly more. What
// the data do not tell apart is not told apart here: of several values of one setting the
// smallest change is taken that is not clearly worse than the best.
package advice
