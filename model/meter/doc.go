// Package meter computes what a way of stopping costs, from a stream of protocol records: the
// same code for a simulated fleet and for a real one. A [Meter] takes in [Record] values in
// order of time and yields a [Row] of integers and histograms; [Row.Metrics] turns it into
// named numbers.
//
// # What it promises
//
// Equal records give equal rows, byte for byte: no clock, no float and no map order takes
// part before Metrics. Histograms merge without loss. Memory is bounded by the jobs that are
// not done, or were done less than [Window].Keep ago.
//
// # What counts
//
// What happens before Window.From, the end of the warm-up, is not measured. Most counts go by
// the instant of the record; an interruption goes by the instant its stall begins, a wait, a
// delay and a completion by the instant the job was enqueued; jobs that are lost or stuck are
// counted as the run leaves them, whenever that came about.
//
// An interruption is a claim that ended without a result after its execution was cut short,
// or that was never run. Its stall begins with the later of the grant and the last instant at
// which the execution under that claim worked, and ends with the start of the next execution;
// one that goes on until then costs no stall. A claim that is not run, of a job that waits
// already, lengthens the wait and is no interruption more. An end without a next execution (a
// late ack, dead letter, quarantine, cancel) is an interruption, and no stall. Stalls that
// begin within Window.Cooldown of the end are left out, because most of them could not end;
// others that did not end are counted to the end of the run and reported as censored.
//
// A stall has three parts: undo, while the hooks run; queued, while the job is claimable; and
// held, the rest, in which nobody alive works on it and nobody else may.
//
// An execution of a process that stands still does not work. Two overlap while both work.
// Work is done twice where an execution that ended covers what an earlier one to end had
// covered, so what a saved cursor spares is not redone.
//
// A job ends in one way. An ack that takes it back from dead letter or quarantine, and a
// failover that forgets its end, take the old end out of the books.
//
// # The metrics
//
// Quantiles have three significant digits; means, sums and maxima are exact to the
// microsecond. A ratio or quantile of nothing is not valid, and no NaN. Causes say what
// happened to the process, reasons what the broker was told.
//
//	jobs_enqueued                        count  jobs that arrived
//	jobs_completed                       count  of these, done by the end of the run
//	jobs_dead_lettered                   count  jobs that were given up and stayed so
//	jobs_dead_lettered_by_interruptions  count  of these, not for failures: by expiries, or by attempts counted at the claim
//	jobs_stuck                           count  at the end claimed by nobody alive, and nothing will free them
//	jobs_starving                        count  jobs reported as interrupted again and again without progress
//	jobs_lost                            count  not ended, and the broker knows nothing of them
//	jobs_cancelled                       count  jobs an operator cancelled
//	interruptions                        count  see above; once for each claim
//	interruptions_per_job_per_deploy     1      interruptions by deploys over pairs of a job and a rollout that interrupted it: 1 is no bounce
//	released                             count  claims handed back to the broker, refusals left out
//	reclaimed_by_expiry                  count  claims whose lease ran out
//	interruptions_drain                  count  claims the broker saw end for this reason: the drain's deadline for the kind
//	interruptions_hurry                  count  a repeated signal
//	interruptions_yield                  count  the handler handed the job back
//	interruptions_late_claim             count  granted after the stop
//	interruptions_withdrawn              count  granted to a request that was withdrawn
//	interruptions_refused                count  kind or version not understood
//	interruptions_busy                   count  an earlier execution still ran in the same process
//	interruptions_distrust               count  the worker gave its lease up before it could run out
//	interruptions_cancelled              count  an operator's cancel
//	interruptions_expired                count  the lease ran out
//	interruptions_cut                    count  the lease ran out under a worker that had said it was going
//	stall_seconds_mean                   s      over all stalls
//	stall_seconds_p50                    s
//	stall_seconds_p90                    s
//	stall_seconds_p99                    s
//	stall_seconds_max                    s
//	deploy_stall_seconds_mean            s      over stalls of jobs whose process was being stopped
//	deploy_stall_seconds_p50             s
//	deploy_stall_seconds_p90             s
//	deploy_stall_seconds_p99             s
//	crash_stall_seconds_mean             s      whose process died by itself
//	crash_stall_seconds_p99              s
//	refusal_stall_seconds_mean           s      whose worker did not understand them
//	refusal_stall_seconds_p99            s
//	lease_stall_seconds_mean             s      whose process lived on while its lease did not
//	lease_stall_seconds_p99              s
//	other_stall_seconds_mean             s      for any other cause
//	other_stall_seconds_p99              s
//	stall_held_seconds_mean              s      the part of stall_seconds_mean in which the claim was held by nobody alive
//	stall_undo_seconds_mean              s      the part in which undo hooks ran
//	stall_queued_seconds_mean            s      the part in which the job was claimable
//	stall_share                          1      jobs stalled over jobs started and not ended, both averaged over time
//	delay_seconds_per_job                s      from enqueueing to completion less the work it took; unfinished and given-up jobs to the end less the work that counts
//	executions_started                   count  handlers that began
//	redone_executions                    count  of these, begun before a point that an execution which ended had reached
//	overlapping_executions               count  executions that began to work, or to work again, beside another of the same job
//	overlap_seconds                      s      time in which two or more executions of a job worked, over all jobs
//	effects_applied_twice                count  unfenced effects beyond the first, of each effect of each job
//	redone_work_seconds                  s      work done beyond the first time
//	batches                              count  batches of which every job was acked, by two leases before the end of the run
//	batches_never_completed              count  of these, their counter is not at zero: nothing goes on with them
//	batches_completed_early              count  batches whose counter was at zero while work of theirs was not done
//	attempts_eroded                      count  interruptions that spent part of a budget
//	attempts_eroded_per_job              1      these over jobs_enqueued
//	finished_in_grace                    count  acked after a stop without having been cancelled
//	cancelled                            count  handlers the drain cancelled
//	undone                               count  undo hooks that ran and succeeded
//	quarantined                          count  jobs parked because partial work could not be undone, or by expiry
//	refused                              count  jobs handed back because they were not understood
//	leaked                               count  handlers still running at the end of their worker
//	acked_after_cancel                   count  handlers that finished although they had been cancelled
//	leases_lost                          count  claims lost while the handler or its undo ran
//	unsettled                            count  claims whose settling was not answered before the worker's end
//	superseded                           count  settlings that found another holder or another verb
//	surplus                              count  jobs granted beyond what was asked for, and released
//	withdrawn                            count  jobs a withdrawn request had been granted
//	timeouts                             count  handlers their kind's own limit cancelled
//	failures                             count  claims that ended in a failure
//	exit_seconds_p50                     s      from the stop to the exit or SIGKILL of a process
//	exit_seconds_p99                     s
//	killed_at_grace                      count  processes that ended by SIGKILL
//	stops                                count  processes told to stop
//	crashes                              count  processes that died by themselves
//	rollouts                             count  rollouts that began
//	queue_wait_seconds_p50               s      from enqueueing to the first start
//	queue_wait_seconds_p99               s
//	rollout_seconds                      s      mean length of the rollouts that finished
//	leader_gap_seconds_max               s      never valid: nothing in this version holds a leader lease
//	events                               count  events of the simulation, warm-up included
//
// # What it does not
//
// Work that an execution did is known when it ends, so what still runs at the end of the run
// has redone nothing yet. Of a job's covered work the two ends are kept and not every piece:
// when two executions outlive their successors, what lies between may be called redone. After
// a failover a claim that is older than one which was forgotten is not followed any more.
package meter
