package lint

import "slices"

const kubernetesTermination = "Kubernetes, \"Pod Lifecycle\", Termination of Pods"

// lints are all of them, in the order of the documentation.
var lints = []Lint{
	{"grace-zero", Error, "the grace is 0, or the stop signal is SIGKILL: the worker is killed at once", "the supervisor's row in docs/supervisors.md", graceZero},
	{"grace-too-short", Error, "the grace, written or the supervisor's own, does not hold gap, undo and reserve: the worker refuses to start", "`protocol.Config.Validate`", graceTooShort},
	{"prestop-eats-grace", Error, "a preStop hook that sleeps leaves less of the grace than that", kubernetesTermination, preStopEatsGrace},
	{"grace-above-cap", Error, "the grace is more than the supervisor allows; it is cut without a word. A warning under Nomad, whose clients can allow more, a note for an ECS task that may run on Fargate", "the limits in docs/supervisors.md", graceAboveCap},
	{"grace-ignored", Error, "a grace stands where nobody reads it, and is not the one in force. A warning when the one in force is as long", "Kubernetes, \"PodSpec v1 core\"; Cloud Run, \"Container runtime contract\"", graceIgnored},
	{"grace-not-set", Note, "the grace is the supervisor's own: nobody has decided it", "the defaults in docs/supervisors.md", graceNotSet},
	{"told-unreadable", Error, "QUIESCE_GRACE is not a duration: the worker refuses to start", "`worker.Options.Grace`", toldUnreadable},
	{"told-too-much", Error, "QUIESCE_GRACE is more than is left after the preStop hook: SIGKILL comes before the worker expects it", "`model.Supervisor.WorkerGrace`", toldTooMuch},
	{"told-too-little", Warning, "QUIESCE_GRACE is less than the worker has: it gives jobs up that could finish", "`model.Supervisor.WorkerGrace`", toldTooLittle},
	{"job-outlasts-grace", Warning, "with `--longest-job`: a job can take longer than it may go on after the stop", "`protocol.Config.Closing`", jobOutlastsGrace},
	{"shell-keeps-signal", Error, "a shell starts the worker and waits for it; process 1 of a container ignores a signal that it has no handler for, and a shell passes none on. A warning for anything else than a worker of quiesce", "POSIX, \"Shell Command Language\", 2.11; measured with bash 5.2 and dash 0.5.12", shellKeepsSignal},
	{"shell-without-exec", Warning, "the same, but some shells become their last command", "measured with bash 5.2 and dash 0.5.12", shellWithoutExec},
	{"signal-not-a-stop", Error, "the stop signal is one that begins no drain. A warning for anything else than a worker of quiesce", "docs/operations.md, Stops", signalNotAStop},
	{"kill-mode-none", Error, "systemd stops nobody and kills nobody; the old worker lives on beside the new one", "systemd.kill(5), KillMode=", killModeNone},
	{"kill-mode-process", Warning, "systemd stops the main process alone, and what jobs have started lives on", "systemd.kill(5), KillMode=", killModeProcess},
	{"children-are-signalled", Warning, "systemd signals the children of running jobs too, before the drain has decided anything; of workers of quiesce", "systemd.kill(5), KillMode=control-group", childrenAreSignalled},
	{"never-killed", Warning, "SendSIGKILL=no: what does not end is left running. A note where only the timeout is off: a handler that does not return holds up the deploy for ever", "systemd.service(5), TimeoutStopSec=; systemd.kill(5), SendSIGKILL=", neverKilled},
	{"probe-grace-too-short", Warning, "what a failed probe allows in place of the grace does not hold a drain, or less than the worker is told", "Kubernetes, \"Configure Liveness, Readiness and Startup Probes\", Probe-level terminationGracePeriodSeconds", probeGraceTooShort},
	{"liveness-asks-readiness", Warning, "the liveness probe asks what a worker that is quiet or drains denies, and kills it for that; in a pod's own termination kubelets before 1.21 do, too", "docs/operations.md, Probes and orders; kubernetes/kubernetes#98571", livenessAsksReadiness},
	{"stops-all-at-once", Warning, "a deploy stops all workers together: every job in flight is interrupted, and nobody is there to take it", "the column on deploys in docs/supervisors.md", stopsAllAtOnce},
	{"not-restarted", Warning, "nobody starts the worker again when it ends by itself: after a crash, a drain by hand, wedged slots. A note for anything else than a worker of quiesce", "Compose, restart; systemd.service(5), Restart=; Supervisor, autorestart", notRestarted},
}

// All returns every lint, in the order of the documentation.
func All() []Lint { return slices.Clone(lints) }
