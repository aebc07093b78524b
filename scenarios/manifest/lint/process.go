package lint

import (
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// alone reports whether the stop signal goes to the first process alone: not under Heroku and
// systemd's control-group, which signal every process, nor supervisord's stopasgroup.
func (v *view) alone() bool {
	switch v.Supervisor {
	case model.Heroku:
		return false
	case model.Systemd:
		return v.KillMode == "mixed" || v.KillMode == "process"
	case model.Supervisord:
		return v.Lines["stopasgroup"] == 0
	}
	return true
}

// runsToItsEnd reports whether the workload is a task that is done some time.
func (v *view) runsToItsEnd() bool {
	return !v.known() && (v.Kind == "Job" || v.Kind == "CronJob" || v.RestartPolicy == "no" && v.Supervisor == model.Docker)
}

func (v *view) shells(h manifest.Handover, s Severity, remedy, problem string) {
	if !v.alone() || v.runsToItsEnd() {
		return
	}
	for _, p := range v.Processes {
		if p.Handover() == h {
			v.report(s, p.CommandLine, p.CommandKey, remedy, problem, p.Program())
		}
	}
}

func shellKeepsSignal(v *view) {
	v.shells(manifest.Stays, v.forWorker(Error, Warning), "start the worker without a shell, or by exec at the end of the script, outside of pipes and loops",
		"starts the worker by %s, which waits for it: the stop signal ends at the shell, and the worker learns of the stop by SIGKILL")
}

func shellWithoutExec(v *view) {
	v.shells(manifest.UpToShell, Warning, "write exec before the command that is the worker, or start it without a shell",
		"starts the worker by %s without exec: where that is dash (Debian, Ubuntu) the stop signal ends at the shell, and the worker learns of the stop by SIGKILL")
}

// signalLine is where the stop signal is written; of several the one that counts.
func (v *view) signalLine() (line int, key string) {
	for _, container := range v.Containers {
		if at := v.Lines["containers/"+container+"/stopSignal"]; at > 0 {
			return at, "stopSignal"
		}
	}
	return v.firstLine("stop_signal", "RestartKillSignal", "KillSignal", "kill_signal", "stopsignal")
}

// notAStop says what a worker does at signals that begin no drain; at any other it ends at once.
var notAStop = map[string]string{
	"SIGQUIT":  "at which a worker of quiesce shows its goroutines and ends at once, with status 2",
	"SIGUSR1":  "at which a worker of quiesce claims no more and lives on",
	"SIGTSTP":  "at which a worker of quiesce claims no more and lives on",
	"SIGCONT":  "at which a worker of quiesce does nothing",
	"SIGWINCH": "at which a worker of quiesce does nothing",
}

func signalNotAStop(v *view) {
	if v.StopSignal == "" || v.Unfit != nil || slices.Contains([]string{"SIGTERM", "SIGINT"}, v.StopSignal) {
		return
	}
	does, ok := notAStop[v.StopSignal]
	if !ok {
		does = "at which a worker of quiesce ends at once, without a drain"
	}
	line, key := v.signalLine()
	v.report(v.forWorker(Error, Warning), line, key, "write SIGTERM, or drop it", "is %s, %s", v.StopSignal, does)
}

func killModeNone(v *view) {
	if v.Unfit != nil && v.Unfit.Field == "KillMode" {
		v.report(Error, v.Unfit.Line, "KillMode", "write KillMode=mixed", "is none: no process is asked to stop and none is killed, and a deploy leaves the old worker running beside the new one")
	}
}

func killModeProcess(v *view) {
	if v.KillMode == "process" {
		v.report(Warning, v.Lines["KillMode"], "KillMode", "write KillMode=mixed", "is process: signal and SIGKILL go to the main process alone, and what its jobs have started lives on without it")
	}
}

func childrenAreSignalled(v *view) {
	if v.Supervisor == model.Systemd && v.KillMode == "control-group" && v.known() {
		v.report(Warning, v.Lines["KillMode"], "KillMode", "write KillMode=mixed", "is control-group: the children of running jobs are sent SIGTERM too, and die before the drain has decided anything")
	}
}

func neverKilled(v *view) {
	if v.Unfit != nil || v.Grace != manifest.Forever {
		return
	}
	if line := v.Lines["SendSIGKILL"]; line > 0 {
		v.report(Warning, line, "SendSIGKILL", "drop it", "is no: a worker that does not end in time is left running, beside its successor")
		return
	}
	if !v.known() { // A worker that is told its grace ends by itself.
		v.report(Note, v.GraceLine, v.GraceName(), "write TimeoutStopSec= and how long a job may go on after the stop", "switches SIGKILL off: a job that does not end holds up every deploy for as long")
	}
}

func probeGraceTooShort(v *view) {
	for _, p := range v.Processes {
		for _, probe := range p.Probes {
			const key = "terminationGracePeriodSeconds"
			d, known := told(&p)
			switch {
			case probe.GraceLine == 0 || probe.Kind == "readinessProbe":
			case !v.fits(probe.Grace):
				v.report(Warning, probe.GraceLine, key, "drop it, so that the pod's own counts", "of the %s is %s, which does not hold %s: when the probe fails the worker is killed in its drain", probe.Kind, short(probe.Grace), v.need(probe.Grace))
			case known && d > probe.Grace:
				v.report(Warning, probe.GraceLine, key, "drop it, so that the pod's own counts", "of the %s is %s, and QUIESCE_GRACE on line %d says %s: when the probe fails SIGKILL comes before the worker expects it", probe.Kind, short(probe.Grace), p.ToldLine, short(d))
			}
		}
	}
}

// livenessAsksReadiness looks at the address alone: two probes may well ask the same thing.
func livenessAsksReadiness(v *view) {
	for _, p := range v.Processes {
		for _, probe := range p.Probes {
			path := strings.ToLower(probe.Target)
			if probe.Kind == "livenessProbe" && strings.HasPrefix(path, "httpget") && strings.Contains(path, "/ready") {
				v.report(Warning, probe.Line, probe.Kind, "ask what says that the process lives, /healthz of a worker", "asks %s, which a worker that is quiet or drains denies: it is killed for it", strings.TrimPrefix(probe.Target, "httpGet "))
			}
		}
	}
}
