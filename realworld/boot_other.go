//go:build !linux && !darwin

package realworld

// bootID names the running kernel, where that can be found out. Without a name nobody is
// known to be dead, and their silence is waited for.
func bootID() string { return "" }
