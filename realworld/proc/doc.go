// Package proc runs child processes for handlers, such that none outlives its job, its worker
// or the kill of either.
//
//	cmd := proc.Command(ctx, job.Scope, "ffmpeg", "-i", in, out)
//	cmd.Grace = 2 * time.Second // and worker.Gap(2 * time.Second + …) on the kind
//	if err := cmd.Run(); err != nil {
//		return err // the cause, when ctx was cancelled
//	}
//
// # What it promises
//
// When ctx is cancelled the child's process group gets SIGTERM; what is left of it after
// Grace gets SIGKILL, and so does everything that descends from it. Run and Wait return when
// all of that is gone and reaped, so a handler that has returned has no child. What a child
// leaves running when it ends is killed as well.
//
// When the worker dies, by SIGKILL or otherwise, all of it is killed at once. A seat of
// package realworld is free only when it is gone.
//
// # How
//
// Beside each child stands a shim: this program's own binary, started again under the name
// quiesce-shim, which is recognised before main. It takes orders through a pipe that ends
// with the worker, adopts what loses its parent, and takes no notice of signals. Programs that
// import this package may therefore be started a second time; work in variable
// initialisation of other packages may happen there too.
//
// # Limits
//
// On Linux a descendant is found in whatever session or group it is, as long as /proc can be
// read. When somebody kills the shim itself, the child dies with it and its group is killed,
// but a descendant that has left the group gets away, unless the worker's control group is
// delegated to it (systemd: Delegate=yes): then the child has a group of its own in there,
// which is killed as a whole. A process that runs as another user cannot be killed without
// the right to do so, and one stuck in the kernel not before it wakes.
//
// On macOS and the BSDs there are no adopted orphans: what leaves the child's process group
// gets away. On Windows Start returns an error that matches errors.ErrUnsupported.
package proc
