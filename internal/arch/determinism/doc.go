// Package determinism holds no code, only a test that tries out what the others promise:
// the same scenario, seed and policy give the same trace hash and the same numbers in two
// processes, with one processor and with two, and compiled for another architecture.
//
// The other architecture is arm64, run by qemu's user mode; without it that part is skipped.
package determinism
