package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// base is a scenario; complete adds those of its lines that a fragment does not have.
const base = `duration: 6h
fleet: {workers: 3}
jobs: {mail: {arrivals: {poisson: 3/s}, duration: 2s}}
`

func complete(fragment string) string {
	var b strings.Builder
	b.WriteString(fragment)
	if !strings.HasSuffix(fragment, "\n") {
		b.WriteString("\n")
	}
	for line := range strings.Lines(base) {
		name, _, _ := strings.Cut(line, ":")
		if !strings.HasPrefix(fragment, name+":") && !strings.Contains(fragment, "\n"+name+":") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// marked cuts the mark ¦ out of text and says where it stood.
func marked(t *testing.T, text string) (clean string, line, column int) {
	before, after, found := strings.Cut(text, "¦")
	require.True(t, found, "the case marks where the error belongs")
	return before + after, strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}

// Each case marks with ¦ where the error must point.
var refused = []struct{ name, text, want string }{
	// Words.
	{"a misspelt key names the nearest and lists the valid ones", "queue: {¦leese: 5m}",
		"queue.leese is not a key; did you mean lease? valid are preset, lease, heartbeat, margin, drift, long_poll, poll, service, max_failures, poison, starving, backoff, count_at_claim, max_attempts, sweep, max_claims, on_expiry, max_message_age"},
	{"a key that is like no other only lists the valid ones", "deploys: {¦tuesdays: 3}",
		"deploys.tuesdays is not a key; valid are every, at, count, trace, app"},
	{"deploys without a pause between them", "deploys: {every: ¦1ns}", "deploys.every 1ns is too short for a simulation to get anywhere; write at least 1s"},
	{"crashes without a pause between them", "faults: {crash: {mtbf: ¦1ms}}", "faults.crash.mtbf 1ms is too short for a simulation to get anywhere; write at least 1s"},
	{"sweeps without a pause between them", "queue: {sweep: {period: ¦1us}}", "queue.sweep.period 1us is too short for a simulation to get anywhere; write at least 1ms"},
	{"a cursor saved every nanosecond", "jobs: {mail: {arrivals: {poisson: 1/s}, duration: 2s, save: ¦1ns}}",
		"jobs.mail.save 1ns is too short for a simulation to get anywhere; write at least 1ms"},
	{"a heartbeat of nanoseconds", "queue: {heartbeat: ¦5ns}", "queue.heartbeat 5ns is too short for a simulation to get anywhere; write at least 1ms"},
	{"more jobs than a run can bring", "jobs: {mail: {arrivals: ¦{poisson: 999999999/s}, duration: 2s}}",
		"jobs.mail.arrivals brings 2.25e+13 jobs within duration 6h0m0s, more than 1e+09; lower the rate or shorten duration"},
	{"a queue that does not exist", "queue: {preset: ¦sidekick}",
		`queue.preset "sidekick" is not a queue that is known here; did you mean sidekiq? valid are asynq, sidekiq, sidekiq-pro, bullmq, celery, celery-early-ack, machinery, rq, dramatiq, arq, river, oban, pg-boss, good-job, solid-queue, graphile, temporal, faktory, shoryuken, sqs-consumer`},
	{"a lease shorter than a preset's heartbeat", "queue: {preset: asynq, margin: 1s, lease: ¦3s}",
		"queue.lease 3s must be longer than the heartbeat of asynq, 5s; lengthen it, or write heartbeat as well"},
	{"attempts of a preset that counts none", "queue: {preset: asynq, max_attempts: ¦3}",
		"queue.max_attempts has no meaning without count_at_claim; write count_at_claim: true, or use max_failures"},
	{"a column without a name", "policies: [hybrid, ¦{policy: hybrid}]", "policies[1].name is missing; write name: what tables call it"},
	{"a column with the name of a preset", "policies: [{name: ¦hybrid}]",
		"policies[0].name hybrid is the name of a preset already; choose another, for example hybrid-today"},
	{"a column that cannot be named on a command line", `policies: [{name: ¦"a, b"}]`,
		`policies[0].name "a, b" cannot name a column; use letters, digits, dots and dashes`},
	{"a column named twice", "policies: [{name: today}, {name: ¦today}]", "policies[1].name today stands here for the second time; name each policy once"},
	{"a column of two ways of stopping", "policies: [{name: today, policy: ¦drain, queue: asynq}]",
		"policies[0].policy is the way of stopping that queue asynq has already; keep one of the two"},
	{"polls in step that nobody makes", "queue: {poll: 1s}\npolicies: [{name: today, in_step: ¦true}]",
		"policies[0].in_step needs workers that poll, and these wait at the broker until there is a job; write poll: 1s and long_poll: 0s under queue"},
	{"a counter that nobody waits for", "policies: [{name: today, counted: ¦after_ack}]",
		"policies[0].counted counts nothing down, for no jobs come in batches; give a kind of jobs a batch, for example batch: 100"},
	{"a fault written twice", "policies: [{name: today, unsafe: [settles-once, ¦settles-once]}]",
		"policies[0].unsafe[1] settles-once stands here for the second time; name each fault once"},
	{"a misspelt key is told from the required one it hides", "faults: {pause: {¦evry: 2h, length: 3s}}",
		"faults.pause.evry is not a key; did you mean every? valid are every, length"},
	{"a merge key is a key like others", "queue:\n  ¦<<: {lease: 5m}\n",
		"queue.<< is not a key; valid are preset, lease, heartbeat, margin, drift, long_poll, poll, service, max_failures, poison, starving, backoff, count_at_claim, max_attempts, sweep, max_claims, on_expiry, max_message_age"},
	{"a key written twice", "queue: {lease: 5m}\n¦queue: {lease: 6m}\n", "queue is written twice, first on line 1; keep one of them"},
	{"a key without value", "¦queue:\n", "queue has no value; write one, or drop the key"},
	{"a key that is a list", "queue: {¦[lease]: 5m}", "queue has a key that is not text; write plain keys"},
	{"a scalar where keys belong", "queue: ¦5m", "queue is not a mapping; write it as queue: {preset: …}"},
	{"a required key that is missing", "faults: {pause: ¦{every: 2h}}", "faults.pause.length is missing; write length: how long each lasts, for example 30s"},
	{"a policy that does not exist", "policies: [drain, ¦hybird]",
		`policies[1] "hybird" is not a policy; did you mean hybrid? valid are none, crash-only, deaf, finish-only, drain, drain+sweep, hybrid, release-now, adaptive, asynq, sidekiq, sidekiq-pro, bullmq, celery, celery-early-ack, machinery, rq, dramatiq, arq, river, oban, pg-boss, good-job, solid-queue, graphile, temporal, faktory, shoryuken, sqs-consumer`},
	{"a policy named twice", "policies: [drain, ¦drain]", "policies[1] drain stands here for the second time; name each policy once"},
	{"no policy", "policies: ¦[]", "policies is empty; write a list such as [crash-only, hybrid]"},
	{"one policy without a list", "policies: ¦hybrid", "policies is not a list; write a list such as [crash-only, hybrid]"},
	{"a choice that is none", "queue: {on_expiry: ¦quarantaine}",
		`queue.on_expiry "quarantaine" is not known; did you mean quarantine? valid are redeliver, quarantine, dead_letter`},
	{"a flag that is a word", "queue: {count_at_claim: ¦yes}", `queue.count_at_claim "yes" is neither true nor false; write true or false`},
	{"an empty name", `name: ¦""`, "name is empty; write text, or drop the key"},

	// Numbers.
	{"a negative duration", "queue: {lease: ¦-5m}", "queue.lease -5m is negative; write it without the minus"},
	{"a duration without unit", "queue: {lease: ¦300}", "queue.lease 300 has no unit; write 300s for seconds, or another of ns us ms s m h d"},
	{"a duration in words", "queue: {lease: ¦five minutes}", `queue.lease "five minutes" is not a duration; write a duration, for example 30s, 1m30s or 2d`},
	{"an absurd duration", "duration: ¦36501d", "duration 36501d is more than 100 years; write a duration, for example 30s, 1m30s or 2d"},
	{"a duration beyond all integers", "duration: ¦99999999999999999999h", "duration 99999999999999999999h is more than 100 years; write a duration, for example 30s, 1m30s or 2d"},
	{"a duration of zero where that makes no sense", "duration: ¦0", "duration 0 is not positive; write a duration above zero, for example 30s"},
	{"a list where a duration belongs", "duration: ¦[6h]", "duration is not a single value; write a duration, for example 30s"},
	{"no workers", "fleet: {workers: ¦0}", "fleet.workers 0 is less than 1; write a number from 1 to 1000000"},
	{"too many workers", "fleet: {workers: ¦1000001}", "fleet.workers 1000001 is more than 1000000; write a number from 1 to 1000000"},
	{"half a worker", "fleet: {workers: ¦1.5}", `fleet.workers "1.5" is not a whole number; write one, for example 1`},
	{"failures below zero", "queue: {max_failures: ¦-1}", "queue.max_failures -1 is less than 0; write 0 or more"},
	{"a chance above all", "faults: {network: {loss: ¦101%}}", "faults.network.loss 101% is more than 100%; write a percentage such as 5% or 0.01%"},
	{"a percentage without its sign", "faults: {network: {loss: ¦5}}", "faults.network.loss 5 is more than 1, which is 100%; write 5% if a percentage is meant"},
	{"a negative chance", "faults: {network: {loss: ¦-1%}}", "faults.network.loss -1% is negative; write a percentage such as 5% or 0.01%"},
	{"a chance finer than a billionth", "faults: {network: {loss: ¦0.00000001%}}", "faults.network.loss 0.00000001% is finer than a billionth; round it, for example to 0.0000001%"},
	{"a chance in words", "faults: {network: {loss: ¦some}}", `faults.network.loss "some" is not a chance; write a percentage such as 5% or 0.01%`},
	{"a drift without unit", "queue: {drift: ¦50}", `queue.drift "50" is not a drift; write parts per million, for example 50ppm`},
	{"a drift that stops the clock", "faults: {drift: ¦500000ppm}", "faults.drift 500000ppm is not below 500000ppm; write parts per million, for example 50ppm"},
	{"a surge in words", "supervisor: {rollout: {max_surge: ¦some}}", `supervisor.rollout.max_surge "some" is neither a number of processes nor a percentage; write a whole number such as 2, or a percentage such as 25%`},

	// Distributions and arrivals.
	{"a law that does not exist", "fleet: {workers: 3, start: {¦normal: {mean: 3s}}}",
		"fleet.start.normal is not a key; valid are constant, exponential, lognormal, uniform, pareto, empirical"},
	{"two laws at once", "fleet: {workers: 3, start: {constant: 3s, ¦exponential: {mean: 3s}}}",
		"fleet.start has constant and also exponential; keep one of them"},
	{"no law", "fleet: {workers: 3, start: ¦{}}", "fleet.start is empty; write one of constant, exponential, lognormal, uniform, pareto, empirical"},
	{"a p99 below the p50", "fleet: {workers: 3, start: {lognormal: ¦{p50: 3s, p99: 2s}}}",
		"fleet.start.lognormal does not work: lognormal p99 2s must exceed p50 3s; raise p99 or lower p50"},
	{"half of a lognormal without its name", "fleet: {workers: 3, start: ¦{p50: 3s}}",
		"fleet.start.p99 is missing; write p99: what one in a hundred exceeds, for example 4m"},
	{"a uniform law from high to low", "fleet: {workers: 3, start: {uniform: ¦{min: 3s, max: 2s}}}",
		"fleet.start.uniform does not work: uniform min 3s must not exceed max 2s; lower min or raise max"},
	{"a tail of centuries", "fleet: {workers: 3, start: {exponential: ¦{mean: 4000d}}}",
		"fleet.start.exponential reaches 1330842h35m12.030341977s, more than 100 years; make its tail shorter"},
	{"an alpha of nothing", "fleet: {workers: 3, start: {pareto: {min: 1s, alpha: ¦0}}}",
		`fleet.start.pareto.alpha "0" is not a positive number below 1000 with at most six decimals; write a number such as 1.5`},
	{"a rate without unit", "jobs: {mail: {arrivals: {poisson: ¦13}, duration: 2s}}",
		`jobs.mail.arrivals.poisson "13" is not a rate; write jobs per second, minute or hour: 13/s, 40/m or 5/h`},
	{"a rate of nothing", "jobs: {mail: {arrivals: {poisson: ¦0/s}, duration: 2s}}",
		"jobs.mail.arrivals.poisson 0/s is no job at all; drop the kind, or write a rate above zero"},
	{"a bare duration as arrivals", "jobs: {mail: {arrivals: ¦2s, duration: 2s}}",
		`jobs.mail.arrivals "2s" is not a way to arrive; write {poisson: 13/s}, {every: 2s} or a distribution of gaps`},
	{"no time between two jobs", "jobs: {mail: {arrivals: ¦{uniform: {min: 0s, max: 0s}}, duration: 2s}}",
		"jobs.mail.arrivals leaves no time between two jobs; write gaps above zero"},

	// What does not go together.
	{"a map without its trace", "jobs: {map: ¦{arrival: created, duration: took}}", "jobs.map names the columns of a trace, and there is none; write trace: FILE beside it, or drop it"},
	{"no kinds of jobs", "jobs: ¦{}", "jobs is empty, so there is nothing to do; write kinds by name, for example render: {arrivals: {poisson: 13/s}, duration: 45s}"},
	{"kinds of jobs in a list", "jobs: ¦[mail]", "jobs is not a mapping; write kinds by name, for example render: {arrivals: {poisson: 13/s}, duration: 45s}"},
	{"a name that colours the screen", "name: ¦\"red \\e[31m\"", "name holds U+001B, which tells a terminal something and is no text; leave it out"},
	{"a sentence that is shown backwards", "about: ¦\"a \\u202e b\"", "about holds U+202E, which tells a terminal something and is no text; leave it out"},
	{"a kind without a name", `jobs: {"": ¦{arrivals: {every: 1s}, duration: 2s}}`, `jobs "" is not a name for a kind; use up to 256 printable characters`},
	{"a fleet of unknown size", "fleet: ¦{slots: 2}", "fleet.workers is missing; write fleet: {workers: 100}, or name a manifest under supervisor"},
	{"a warm-up as long as the run", "warmup: ¦6h", "warmup 6h0m0s must be shorter than duration 6h0m0s; shorten warmup or lengthen duration"},
	{"a heartbeat as long as the lease", "queue: {lease: 30s, heartbeat: ¦30s}",
		"queue.heartbeat 30s must be shorter than lease 30s; write 10s, a third of the lease, which survives one lost renewal"},
	{"a heartbeat longer than the default lease", "queue: {heartbeat: ¦10m}",
		"queue.heartbeat 10m0s must be shorter than lease 5m0s; write 1m40s, a third of the lease, which survives one lost renewal"},
	{"a lease too short to divide", "queue: {lease: ¦1ms}",
		"queue.lease 1ms makes the heartbeat 333.333µs, a third of it, too short for a simulation to get anywhere; write at least 3ms"},
	{"a heartbeat behind the end of trust", "queue: {lease: 30s, heartbeat: ¦29500ms}",
		"queue.heartbeat loses every claim before its first renewal, after 29.5s: margin 600ms and drift 0ppm leave 29.4s of lease 30s; shorten heartbeat or margin, or lengthen lease"},
	{"a margin that leaves no time for a heartbeat", "queue: {lease: 30s, drift: 0ppm, margin: ¦20s}",
		"queue.margin loses every claim before its first renewal, after 10s: margin 20s and drift 0ppm leave 10s of lease 30s; shorten heartbeat or margin, or lengthen lease"},
	{"a drift and a margin that are the whole lease", "queue: {lease: 30s, drift: 490000ppm, margin: ¦16s}",
		"queue.margin loses every claim before its first renewal, after 10s: margin 16s and drift 490000ppm leave 0s of lease 30s; shorten heartbeat or margin, or lengthen lease"},
	{"a drift that leaves no time for a preset's heartbeat", "queue: {preset: solid-queue, drift: ¦400000ppm, lease: 100s}",
		"queue.drift loses every claim before its first renewal, after 1m0s: margin 1s and drift 400000ppm leave 59s of lease 1m40s; shorten heartbeat or margin, or lengthen lease"},
	{"a lease hardly longer than a preset's heartbeat", "queue: {preset: asynq, lease: ¦5050ms}",
		"queue.lease loses every claim before its first renewal, after 5s: margin 101ms and drift 0ppm leave 4.949s of lease 5.05s; shorten heartbeat or margin, or lengthen lease"},
	{"a margin that is the whole lease", "queue: {lease: 30s, margin: ¦30s}", "queue.margin 30s must be shorter than lease 30s; shorten margin or lengthen lease"},
	{"a backoff that shrinks", "queue: {backoff: {min: 3s, max: ¦2s}}", "queue.backoff.max makes max 2s less than min 3s; raise max or lower min"},
	{"a backoff above the default maximum", "queue: {backoff: {min: ¦2m}}", "queue.backoff.min makes max 1m0s less than min 2m0s; raise max or lower min"},
	{"max_attempts without its counter", "queue: {max_attempts: ¦5}", "queue.max_attempts has no meaning without count_at_claim; write count_at_claim: true, or use max_failures"},
	{"a grace that is all reserve", "supervisor: {grace: ¦500ms}", "supervisor.grace 500ms must exceed reserve 500ms; raise grace"},
	{"a grace of zero", "supervisor: {grace: ¦0s}", "supervisor.grace 0s must exceed reserve 500ms; raise grace"},
	{"a preStop hook that leaves no time", "supervisor: {prestop: ¦29800ms}",
		"supervisor.prestop leaves too little: grace 30s less prestop 29.8s = 200ms must exceed reserve 500ms; raise grace or shorten the preStop hook"},
	{"a preStop hook without Kubernetes", "supervisor: {kind: plain, prestop: ¦5s}", "supervisor.prestop has no meaning under kind plain; drop it, or write kind: kubernetes"},
	{"an ExecStop without systemd", "supervisor: {kind: nomad, exec_stop: ¦5s}", "supervisor.exec_stop has no meaning under kind nomad; drop it, or write kind: systemd"},
	{"a shutdown_delay without Nomad", "supervisor: {shutdown_delay: ¦5s}", "supervisor.shutdown_delay has no meaning under kind kubernetes; drop it, or write kind: nomad"},
	{"a grace above the client's limit", "supervisor: {kind: nomad, grace: ¦2h}", "supervisor.grace 2h0m0s is more than Nomad allows, 30s; write at most 30s"},
	{"a grace above Fargate's limit", "supervisor: {kind: fargate, grace: ¦5m}", "supervisor.grace 5m0s is more than Fargate allows, 2m0s; write at most 2m0s"},
	{"a grace below that of ECS", "supervisor: {kind: ecs, grace: ¦900ms}", "supervisor.grace 900ms is less than ECS allows, 1s; write at least 1s"},
	{"a grace where none can be configured", "supervisor: {kind: cloud-run, grace: ¦30s}", "supervisor.grace 30s cannot be: Cloud Run always allows 10s; drop it"},
	{"an eviction that shortens nothing", "faults: {eviction: {every: 1h, grace: ¦30s}}", "faults.eviction.grace 30s shortens nothing: the grace is 30s; write less than the grace"},
	{"a liveness probe that never strikes", "faults: {liveness: ¦30s}", "faults.liveness 30s never strikes: SIGKILL comes 30s after the stop signal; write less"},
	{"a fault after the end", "faults: {at: [{time: ¦7h, kind: crash}]}", "faults.at[0].time 7h0m0s is not before the end at 6h0m0s; move it, or lengthen duration"},
	{"a crash that lasts", "faults: {at: [{time: 1s, kind: crash, length: ¦3s}]}", "faults.at[0].length has no meaning: a crash is over at once; drop it, or write kind: pause"},
	{"a pause that does not last", "faults: {at: [¦{time: 1s, kind: pause}]}", "faults.at[0] lasts no time; write length: 5s"},
	{"a kind of fault that there is not", "faults: {at: [{time: 1s, kind: ¦puase}]}", `faults.at[0].kind "puase" is not known; did you mean pause? valid are crash, pause, partition, preempt`},
	{"a preStop hook that is not there", "supervisor: {prestop_tells: ¦true}", "supervisor.prestop_tells has no preStop hook that could tell; write prestop: 5s, or drop it"},
	{"a preStop hook of another supervisor", "supervisor: {kind: systemd, prestop_tells: ¦true}", "supervisor.prestop_tells has no meaning under kind systemd; drop it, or write kind: kubernetes"},
	{"a finding of another policy", "policies: [drain]\nfinding: {policy: ¦hybrid, seed: 1, invariant: x}", `finding.policy "hybrid" is none of policies; valid are drain`},
	{"an override that is none", "finding: {policy: hybrid, seed: 1, invariant: x, overrides: [¦message/1]}", `finding.overrides[0] "message/1" is not an override; write stream/entity/index=value, for example message/4294967297/12=0`},
	{"an override too large", "finding: {policy: hybrid, seed: 1, invariant: x, overrides: [¦message/99999999999999999999/1=0]}", "finding.overrides[0] 99999999999999999999 is more than a number can be; write stream/entity/index=value, for example message/4294967297/12=0"},
	{"a scale-in of the whole fleet", "faults: {scale_in: {every: 1h, workers: ¦3, back: 1m}}", "faults.scale_in.workers 3 leaves nobody of 3 workers; stop fewer, or enlarge the fleet"},
	{"a declared gap beyond the grace", "jobs: {mail: {arrivals: {every: 1s}, duration: 2s, gap: ¦26s, undo: 2s}}",
		"jobs.mail.gap does not fit: gap 26s + undo 2s + reserve 5s = 33s, more than grace 30s; check for cancellation more often, undo faster or raise grace"},
	{"an undo beyond the grace", "jobs: {mail: {arrivals: {every: 1s}, duration: 2s, undo: ¦26s}}",
		"jobs.mail.undo does not fit: gap 0s + undo 26s + reserve 5s = 31s, more than grace 30s; check for cancellation more often, undo faster or raise grace"},
	{"a flush of nothing", "jobs: {mail: {arrivals: {every: 1s}, duration: 2s, flush: ¦true}}",
		"jobs.mail.flush has no meaning without save; write how often progress is saved, for example save: 1s, or drop it"},
	{"a surge of a StatefulSet", "supervisor: {rollout: {strategy: stateful, max_surge: ¦1}}", "supervisor.rollout.max_surge has no meaning under strategy stateful; drop it, or write strategy: rolling"},
	{"a partition of a Deployment", "supervisor: {rollout: {partition: ¦1}}", "supervisor.rollout.partition has no meaning under strategy rolling; drop it, or write strategy: stateful"},
	{"a rollout that cannot move", "supervisor: {rollout: {max_surge: 0, max_unavailable: ¦0%}}", "supervisor.rollout.max_unavailable is 0 and so is max_surge: nothing could move; raise one of them"},
	{"more than all unavailable", "supervisor: {rollout: {max_unavailable: ¦101%}}", "supervisor.rollout.max_unavailable 101% is more than all; write at most 100%"},
	{"a selector without a manifest", "supervisor: {select: ¦web}", "supervisor.select chooses a workload of a manifest, which is not written; write manifest: FILE, or drop select"},
	{"an app without a history", "deploys: {every: 1h, app: ¦web}", "deploys.app chooses rows of a trace, which is not written; write trace: FILE, or drop app"},
	{"deploys without a time", "deploys: ¦{}", "deploys says no time; write every: 20m, at: [10m, 40m] or trace: FILE"},
	{"a count of nothing", "deploys: {at: [1h], count: ¦3}", "deploys.count counts the deploys by every, which is not written; write every, or drop count"},
	{"a deploy after the end", "deploys: {at: [1h, ¦6h]}", "deploys.at[1] 6h0m0s is not before the end at 6h0m0s; move it, or lengthen duration"},
	{"the same deploy twice", "deploys: {at: [1h, ¦60m]}", "deploys.at[1] 1h0m0s stands here for the second time; name each instant once"},

	// Of several problems the first is reported.
	{"the first problem by line", "queue: {lease: ¦1x}\ndeploys: {evry: 1h}\n", `queue.lease "1x" is not a duration; write a duration, for example 30s, 1m30s or 2d`},
	{"a misspelt word before a bad relation", "warmup: 7h\nqueue: {¦leas: 1h}\n",
		"queue.leas is not a key; did you mean lease? valid are preset, lease, heartbeat, margin, drift, long_poll, poll, service, max_failures, poison, starving, backoff, count_at_claim, max_attempts, sweep, max_claims, on_expiry, max_message_age"},

	// Text that is no scenario.
	{"a tab as indentation", "queue:\n¦\tlease: 5m\n", "is indented with a tab, which YAML does not allow; indent with spaces"},
	{"an open bracket", "queue: {lease: 5m\n¦deploys: {every: 1h}\n", "is not YAML: did not find expected ',' or '}'; check indentation, quotes and brackets from here on"},
	{"an alias without anchor", "queue: ¦*shared\n", "alias *shared has no anchor before it; write &shared before the value it stands for"},
	{"a second document", "duration: 6h\n¦---\nduration: 7h\n", "begins a second document; write one scenario per file"},
	{"a list instead of a mapping", "¦- duration: 6h\n", "is not a mapping; write keys and values, for example duration: 6h"},
	{"a byte that is not text", "name: ¦\x01\n", "holds a byte here that UTF-8 text does not hold; name a YAML file, saved as UTF-8"},
}

func TestErrorsNamePlaceProblemAndRemedy(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			text, line, column := marked(t, c.text)
			if !strings.Contains(text, "---") && !strings.HasPrefix(text, "- ") {
				text = complete(text)
			}
			_, err := Parse("s.yaml", []byte(text))
			var got *Error
			require.ErrorAs(t, err, &got, "in %q", text)
			assert.Equal(t, c.want, strings.TrimSpace(got.Field+" "+got.Problem)+"; "+got.Remedy)
			assert.Equal(t, [2]int{line, column}, [2]int{got.Line, got.Column}, "line and column")
			assert.Equal(t, strings.Split(text, "\n")[line-1], got.Source)
			assert.Equal(t, "s.yaml", got.File)
		})
	}
}

func TestErrorsOfAWholeFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "s.yaml: is empty; start from `simulate scenarios show five-minute-lease`"},
		{"only comments", "# nothing\n", "s.yaml: holds only comments; start from `simulate scenarios show five-minute-lease`"},
		{"UTF-16", "\xff\xfed\x00", "s.yaml: is UTF-16 text; save it as UTF-8"},
		{"too large", strings.Repeat("#", maxBytes+1), "s.yaml: is larger than 1 MiB; name a scenario, not a trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte(c.text))
			assert.EqualError(t, err, c.want)
		})
	}
}

func TestErrorOfOneKindTooMany(t *testing.T) {
	text := "jobs:\n"
	for k := range 65 {
		text += fmt.Sprintf("  k%d: {arrivals: {every: 1s}, duration: 1s}\n", k)
	}
	_, err := Parse("s.yaml", []byte(complete(text)))
	assert.ErrorContains(t, err, "s.yaml:66:8: jobs.k64 is one more than 64 kinds; merge kinds that behave alike\n")
}

func TestErrorPrintsTheLineWithACaret(t *testing.T) {
	_, err := Parse("s.yaml", []byte(complete("queue: {lease: 5m, hartbeat: 1m}\n")))
	assert.EqualError(t, err, `s.yaml:1:20: queue.hartbeat is not a key; did you mean heartbeat? valid are preset, lease, heartbeat, margin, drift, long_poll, poll, service, max_failures, poison, starving, backoff, count_at_claim, max_attempts, sweep, max_claims, on_expiry, max_message_age
    queue: {lease: 5m, hartbeat: 1m}
                       ^`)
}

func TestErrorOfALongLineShowsTheColumn(t *testing.T) {
	text := "policies: [" + strings.Repeat("drain, ", 1) + strings.Repeat(" ", 300) + "hybird]\n"
	_, err := Parse("s.yaml", []byte(complete(text)))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 3)
	caret := strings.IndexByte(lines[2], '^')
	assert.Equal(t, "hybird", lines[1][caret:caret+6])
	assert.Less(t, len(lines[1]), 120)
}

func TestErrorsInOtherFilesPointThere(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("bad.csv", "arrival,duration\n0,-3\n")
	write("bad.txt", "3s\n\n  x\n")
	write("empty.txt", "\n")
	write("compose.yaml", "services:\n  a: {image: x}\n  b: {image: x}\n")
	write("config.yaml", "kind: ConfigMap\napiVersion: v1\n")
	write("zero.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  replicas: 0\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: i}]}}\n")
	file := filepath.Join(dir, "s.yaml")
	parse := func(fragment string) *Error {
		_, err := Parse(file, []byte(complete(fragment)))
		var got *Error
		require.ErrorAs(t, err, &got)
		return got
	}

	t.Run("a bad row of a trace", func(t *testing.T) {
		got := parse("jobs: {trace: bad.csv}\n")
		assert.Equal(t, [2]int{2, 3}, [2]int{got.Line, got.Column})
		assert.Equal(t, filepath.Join(dir, "bad.csv"), got.File)
		var cause *trace.Error
		require.ErrorAs(t, got, &cause)
		assert.Equal(t, cause.Error(), got.Error())
	})
	t.Run("a manifest without a workload", func(t *testing.T) {
		got := parse("supervisor: {manifest: config.yaml}\n")
		assert.Equal(t, filepath.Join(dir, "config.yaml"), got.File)
		var cause *manifest.Error
		assert.ErrorAs(t, got, &cause)
	})
	t.Run("a manifest with two workloads", func(t *testing.T) {
		got := parse("supervisor: {manifest: compose.yaml}\n")
		assert.Equal(t, "choose one: select: service/a", got.Remedy, "in a scenario it is a key")
	})
	t.Run("a line of observations that is no duration", func(t *testing.T) {
		got := parse("fleet: {workers: 3, start: {empirical: bad.txt}}\n")
		assert.EqualError(t, got, filepath.Join(dir, "bad.txt")+":3:3: \"x\" is not a duration; write one duration per line, in seconds or as 1m30s\n      x\n      ^")
	})
	t.Run("observations of nothing are blamed on the scenario", func(t *testing.T) {
		got := parse("fleet: {workers: 3, start: {empirical: empty.txt}}\n")
		assert.Equal(t, file, got.File)
		assert.Equal(t, [2]int{1, 40}, [2]int{got.Line, got.Column})
		assert.Equal(t, "names "+filepath.Join(dir, "empty.txt")+", which holds no durations", got.Problem)
	})
	t.Run("a file that is not there is blamed on the scenario", func(t *testing.T) {
		got := parse("jobs: {trace: none.csv}\n")
		assert.Equal(t, file, got.File)
		assert.Equal(t, [2]int{1, 15}, [2]int{got.Line, got.Column})
		assert.Equal(t, "names "+filepath.Join(dir, "none.csv")+", which does not exist", got.Problem)
	})
	t.Run("a directory is not a trace", func(t *testing.T) {
		assert.Equal(t, "names "+dir+", which is a directory", parse("jobs: {trace: "+dir+"}\n").Problem)
	})
	t.Run("a manifest with a grace of zero and no workers", func(t *testing.T) {
		got := parse("supervisor: {manifest: zero.yaml}\n")
		assert.Equal(t, [2]int{1, 24}, [2]int{got.Line, got.Column})
		assert.Equal(t, "raise terminationGracePeriodSeconds", got.Remedy)
	})
	t.Run("what a manifest says cannot be said again", func(t *testing.T) {
		got := parse("supervisor: {manifest: zero.yaml, grace: 30s}\n")
		assert.Equal(t, "comes from the manifest already", got.Problem)
	})
}

func TestLoadOfWhatIsNeitherScenarioNorFile(t *testing.T) {
	_, err := Load("five-minute-leese")
	assert.ErrorContains(t, err, "five-minute-leese: is neither a scenario nor a file; did you mean five-minute-lease? valid are five-minute-lease, attempt-erosion,")
	_, err = Load(t.TempDir())
	assert.ErrorContains(t, err, "is a directory; name one scenario file in it")
	_, err = Source("nothing-like-it-at-all")
	assert.ErrorContains(t, err, "nothing-like-it-at-all: is not an embedded scenario; valid are")
	_, err = About("none")
	assert.Error(t, err)
}
