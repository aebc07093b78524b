// Package lint looks for what keeps a worker from coming to rest in the manifests of its
// supervisor: a grace that is too short for what a drain must do, a hook that uses it up, a
// worker that is told another grace than it gets, a signal that never reaches it.
//
// Whether a grace can work is the protocol's to say: [Check] asks the configuration that a worker
// would be built with, and how much of a grace a worker gets is [model.Supervisor]'s. A lint has a
// name that does not change, and a severity: an [Error] is what cannot work, a [Warning] what works
// and costs, a [Note] what ought to be a decision.
//
// A manifest may deploy anything. A workload that sets QUIESCE_GRACE is known to be a worker of
// this project; what only such a worker would trip over is a note or nothing for any other.
package lint
