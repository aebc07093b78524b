// Package scenarios reads the worlds that the simulator runs: scenario files written by
// people, a library of embedded ones, and scenarios made of a real job trace and a real
// manifest.
//
// # What it promises
//
// [Load], [Parse] and [FromInput] return a [model.Scenario] with every default filled in, or
// an [*Error] that names file, line, column and field, says what is wrong and what to write
// instead. Nothing is guessed: an unknown key, a key that is written twice, a duration without
// a unit, or two values that do not go together is an error, and a misspelt word comes with
// the nearest valid one. Numbers are read exactly: chances to the billionth, durations to the
// nanosecond.
//
// [Schema] describes the same keys as JSON Schema. Decoder and schema are driven by one table,
// the struct tags in grammar.go.
//
// A trace is read once when its scenario is loaded, to see that it is sound, and again by
// every run; a window of rows is all that is in memory.
//
// # A scenario file
//
// The embedded scenarios are the documentation of the format by example; [Source] returns
// them with their comments. Durations are written as in Go, with d for days (90s, 1m30s, 2d).
// Chances are 5%, 0.01% or 0.05. Where durations differ from case to case, write a
// distribution:
//
//	4m                                      always the same, also {constant: 4m}
//	{exponential: {mean: 58s}}
//	{lognormal: {p50: 45s, p99: 4m}}        also {p50: 45s, p99: 4m}
//	{uniform: {min: 0s, max: 1s}}
//	{pareto: {min: 1s, alpha: 1.5}}
//	{empirical: FILE}                       one duration per line, in seconds or as above
//
// Jobs arrive by {poisson: 13/s}, {every: 2s}, or with gaps of any distribution. Files that a
// scenario names are looked for in the folder of the scenario.
//
// A real queue is named by queue: {preset: asynq}: its broker settings hold for every column,
// and what is written beside the preset changes them. Without policies that queue as it is
// today is compared with hybrid. Beside the names of policies and of real queues, policies may
// describe a column:
//
//	policies:
//	  - {name: today, policy: finish-only, unsafe: [heartbeat-stops-at-stop]}
//	  - {name: theirs, queue: solid-queue}
//	  - {name: in-a-crowd, in_step: true}
//	  - {name: after-ack, counted: after_ack}
//	  - hybrid
//
// unsafe builds faults into a column, as people have them, so that they can be priced. They
// exist in the lab alone: no option of a worker leads to them. in_step has its workers poll on
// ticks since their start, which shows where queue.service makes a crowd line up. counted is how
// a handler writes the counter of a batch, of jobs that come in batches.
//
// # What it does not
//
// It does not judge a scenario that can be run. A fleet that is too small is legal, and so is
// a preStop hook longer than the grace; [Notes] mentions what may surprise. Aliases of YAML
// are followed, merge keys are not a part of the format.
package scenarios
