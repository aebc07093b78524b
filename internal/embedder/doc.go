// Package embedder holds no code, only a test that embeds ours the way a stranger would: in
// a module of its own, of which it then looks at the dependencies. Whatever the protocol
// imports ends up in other people's binaries and go.mod files, so a new line there fails.
package embedder
