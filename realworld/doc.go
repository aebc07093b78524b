// Package realworld connects workers to the operating system. It is at its beginning: the
// signals of a process, translated for the protocol.
package realworld
