// Package trace streams real job traces: when each job arrived, how long it ran and
// what kind of work it was.
//
// A trace of ten million rows is read in one pass with a few megabytes of memory, and
// reading a row allocates nothing. [Open] gives the rows one by one, [Summarize] reads a
// file once and says what is in it, and [WriteCSV] writes the form that all others can be
// turned into.
//
// # Formats
//
// The format follows from the content; the file's extension decides only when the
// content does not. Gzip is recognised by its first bytes, whatever the file is called.
//
//	format  separator         arrival                     duration                    kind
//	CSV     , or ; or a tab   column arrival              column duration             column kind, if any
//	SWF     blanks            field 2, submit time        field 4, run time           field 14: exe-12
//	Azure   , or ; or a tab   end_timestamp - duration    column duration             app/func, eight letters each
//	JSON    objects           arrival, Started,           duration, or Completed      kind, "Workflow / Job" or
//	                          started_at                  or completed_at less that   "workflow_name / name"
//
// JSON is a list of objects, objects one after the other, or the answers of GitHub's API
// whose list is called "jobs". Its three forms are told apart by the keys of the first
// object. Azure is the Azure Functions Invocation Trace of 2021. A job that GitHub skipped
// is left out and counted.
//
// Columns and keys of other names are named by a [Map]: arrival=created,duration=ms:ms. Two
// of arrival, duration and end must be given. A column with a unit holds plain numbers; one
// without holds what is described below, and its dates may have a blank for the T and no
// zone, which is then UTC. Rows in which one of them is empty, null or missing are left out
// and counted, but the first object of a JSON file must have all keys of the map.
//
// A CSV file opens with a header line. Names are matched in any case and any order, and
// further columns are ignored, but every row must have as many cells as the header: a
// row cut short could otherwise pass for a job of 3 s where 300 s was meant. Cells may
// be quoted, and a quoted cell may run over several lines. A duration is a plain number
// of seconds ("2.5", "1e-3") or a Go duration ("1m30s"); an arrival is either of these,
// or an RFC 3339 instant ("2024-11-15T16:57:50Z"). Offsets and instants may not be mixed
// in one file. Numbers are read with integer arithmetic and rounded to the nanosecond.
//
// SWF is the Standard Workload Format of the Parallel Workloads Archive: comment lines
// open with a semicolon, and rows have 18 fields or more. Rows whose submit time or run
// time is unknown (-1) are skipped and counted, as are rows with any other negative run
// time: archive logs write those for jobs that never started.
//
// A job without a kind is of kind "job". A duration of zero is legal: the job occupies a
// worker for no time, but it is still claimed and settled.
//
// # What it promises
//
//   - Arrivals never decrease. Rows are sorted in a window of 4096 rows; a row is refused
//     exactly when 4096 rows or more above it arrive later. Equal arrivals keep their order.
//     Azure, JSON and mapped files may be in any order, the newest first for example: their
//     window is 5,000,000 rows, and takes 32 bytes for each that there is, up to 160 MB.
//   - Arrivals are offsets from the smallest arrival in the first window, so the first job
//     arrives at zero. Neither they nor durations are negative or longer than 100 years.
//   - Every failure is an [*Error] that names file, line, column and what to write instead.
//     It comes as soon as the bad row is read, which is up to a window before its turn.
//   - Memory is bounded by the window, a line of at most 1 MiB and 65536 distinct kinds.
//
// # What it does not
//
//   - It does not guess: a bad row ends the trace, it is not repaired or passed over.
//   - It does not sort files that are out of order beyond the window.
//   - It reads no waiting times and no resources.
//   - A [Reader] is not safe for use by several goroutines.
package trace
