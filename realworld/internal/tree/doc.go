// Package tree starts a process and answers for all that descends from it: what loses its
// parent becomes this process's child, and when the root has ended the rest is killed and
// reaped. On Linux nothing gets away, whatever session or group it is in, as long as /proc can
// be read. On other systems it is the root's process group.
//
// It reaps every child of this process, so it is for processes that do nothing else: the shim
// of a child, and the guard of a worker.
package tree
