// Package arch holds no code, only tests that look at the code of the others:
//
//   - imports_test.go: who imports whom, as a table that is exact in both directions, and
//     what must never be reached, with the reason;
//   - purity_test.go: the protocol, the model and the core of the simulator read no clock,
//     start nothing, draw nothing and compute no floats, so that the same seed gives the
//     same bytes everywhere;
//   - pages_test.go: what people read leads to pages and names that exist, and has every option;
//   - determinism: the same, tried out: processes, GOMAXPROCS, and another processor.
//
// Each table is kept honest: an entry that nothing needs any more fails.
package arch
