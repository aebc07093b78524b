// Package guard is the parent of a worker. It passes signals on, reaps whatever is left
// without a parent (the duty of process 1), and ends with the worker's status. When the
// worker died with claims it had not settled, it has the broker end their leases once the
// whole tree of processes is gone, so that a crash costs a second and not a lease.
//
// The worker tells it which life it lives, see [Tell]; a worker that does not is still
// started, stopped and reaped.
//
// # Limits
//
// What kills the guard too leaves the claims to their leases: SIGKILL of a pod or a control
// group by the kubelet or systemd at the end of the grace, the out-of-memory killer where it
// takes the whole group (Kubernetes sets memory.oom.group), a machine that fails. A worker
// whose guard is killed alone gets SIGTERM on Linux and drains; its claims are its own.
//
// The leases end as if they had run out: they count towards poison, and OnExpiry decides.
// What a handler had half done is not undone; that is what Prior and tokens are for.
package guard
