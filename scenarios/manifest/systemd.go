package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
)

// systemd reads a service unit, after systemd.service(5), systemd.kill(5) and systemd.time(7).
// Drop-ins are other files: `systemctl cat UNIT > unit.service` puts them all into one.
func (s *source) systemd() ([]document, error) {
	settings, sections, err := s.ini(systemdINI)
	if err != nil {
		return nil, err
	}
	doc := document{kind: "unit", name: strings.TrimSuffix(filepath.Base(s.file), ".service")}
	for _, section := range sections {
		switch {
		case section.section == "Container" || section.section == "Pod" || section.section == "Kube":
			// Podman makes a unit of it whose ExecStop has the grace of the container: its own.
			return nil, s.at(section.line, section.column, section.section, "makes this a Quadlet, and Podman stops what it starts, not systemd",
				"write supervisor: {kind: docker, grace: 10s} in a scenario, with its StopTimeout for the grace")
		case section.section == "Service" && doc.line == 0:
			doc.line = section.line
		}
	}
	if doc.line == 0 {
		return nil, s.nothing("has no [Service] section, so it starts and stops no process", "name the .service unit")
	}
	doc.load = func() (*Workload, error) { return s.systemdService(&doc, settings) }
	return []document{doc}, nil
}

// unit is a service unit while it is read. Of a setting that is written several times the last
// one counts, except for commands, which add up. An empty command takes back those before it; systemd
// warns of an empty time or signal, and ignores it.
type unit struct {
	src       *source
	w         *Workload
	killMode  string
	noSIGKILL bool
	restart   setting // RestartKillSignal, which is what a deploy's restart sends
	execStop  []setting
	oneshot   bool
	process   Process
}

func (s *source) systemdService(doc *document, settings []setting) (*Workload, error) {
	u := &unit{src: s, w: s.begin(doc, model.Systemd, "TimeoutStopSec"), killMode: "control-group"}
	u.w.Strategy.Type, u.w.RestartPolicy = Recreate, "no"
	for _, at := range settings {
		if at.section != "Service" {
			u.stray(at)
			continue
		}
		if err := u.read(at); err != nil {
			return nil, err
		}
	}
	if u.restart.value != "" {
		if err := u.stopSignal(u.restart); err != nil {
			return nil, err
		}
	}
	u.finish()
	return u.w, nil
}

// stray notes a grace in another section, where systemd warns of it and goes on.
func (u *unit) stray(at setting) {
	if at.key == "TimeoutStopSec" || at.key == "TimeoutSec" {
		const place = "in [Service]"
		u.w.Ignored = append(u.w.Ignored, Setting{at.key, at.value, at.line, place})
		u.w.note("%s on line %d stands in [%s] and is ignored; write it %s", at.key, at.line, at.section, place)
	}
}

func (u *unit) read(at setting) error {
	switch at.key {
	case "TimeoutStopSec", "TimeoutSec":
		return u.timeout(at)
	case "KillSignal":
		return u.stopSignal(at)
	case "RestartKillSignal":
		if at.value != "" {
			u.restart = at
		}
	case "KillMode":
		return u.mode(at)
	case "SendSIGKILL":
		return u.sendSIGKILL(at)
	case "ExecStart":
		u.process.Command, u.process.CommandKey, u.process.CommandLine = splitWords(strings.TrimLeft(at.value, "-@:+!|")), at.key, at.line
	case "Environment":
		if at.value == "" {
			u.process.Told, u.process.ToldLine = "", 0
		}
		u.process.assignments(splitWords(at.value), at.line)
	case "ExecStop":
		if at.value == "" {
			u.execStop = nil
		} else {
			u.execStop = append(u.execStop, at)
		}
	case "Restart":
		u.w.RestartPolicy, u.w.Lines[at.key] = at.value, at.line
	case "Type":
		u.oneshot = at.value == "oneshot"
	case "FinalKillSignal":
		return u.finalSignal(at)
	case "TimeoutStopFailureMode":
		if at.value != "" && at.value != "terminate" {
			u.w.note("TimeoutStopFailureMode on line %d is %s, which is not simulated", at.line, at.value)
		}
	default:
		return u.src.refuseSetting(at.key, at.line, systemdKeys)
	}
	return nil
}

// systemdKeys are the settings that decide how a unit stops.
var systemdKeys = []string{"TimeoutStopSec", "TimeoutSec", "KillSignal", "RestartKillSignal", "KillMode", "SendSIGKILL", "FinalKillSignal", "ExecStop"}

func (u *unit) refuse(at setting, problem, remedy string) error {
	return u.src.at(at.line, at.column, at.key, problem, remedy)
}

// timeout takes the stop's part of TimeoutStopSec or TimeoutSec; 0 is infinity.
func (u *unit) timeout(at setting) error {
	if at.value == "" {
		return nil
	}
	d, problem := timeSpan(at.value)
	if problem != "" {
		return u.refuse(at, problem, "write one such as 90, 2min 30s or infinity")
	}
	if d == 0 {
		d = Forever
	}
	u.w.GraceKey = at.key
	u.w.setGrace(d, at.line)
	return nil
}

func (u *unit) stopSignal(at setting) error {
	name, err := u.signal(at, "write a name such as SIGTERM")
	if name != "" {
		u.w.StopSignal, u.w.Lines[at.key] = name, at.line
	}
	return err
}

// signal reads a signal, which has no small letters: systemd would ignore it.
func (u *unit) signal(at setting, remedy string) (string, error) {
	if at.value == "" {
		return "", nil
	}
	name, ok := signalOf(at.value)
	switch {
	case !ok:
		return "", u.refuse(at, fmt.Sprintf("%q is not a signal", at.value), remedy)
	case at.value != strings.ToUpper(at.value):
		return "", u.refuse(at, fmt.Sprintf("%q is no signal to systemd, which ignores it", at.value), "write "+name)
	}
	return name, nil
}

// finalSignal reads what is sent in place of SIGKILL.
func (u *unit) finalSignal(at setting) error {
	name, err := u.signal(at, "write SIGKILL, or SIGQUIT or SIGABRT for a core dump")
	if err == nil && name != "" && name != "SIGKILL" {
		u.w.note("FinalKillSignal on line %d is %s; SIGKILL is simulated, and a process that catches %s lives on", at.line, name, name)
	}
	return err
}

// mode reads KillMode. Under none nobody is told to stop and nobody is killed, so there is no drain.
func (u *unit) mode(at setting) error {
	switch at.value {
	case "control-group", "mixed", "process":
		u.killMode, u.w.Unfit = at.value, nil
		u.w.Lines[at.key] = at.line
		return nil
	case "none":
		u.killMode, u.w.Lines[at.key] = at.value, at.line
		u.w.Unfit = u.src.at(at.line, at.column, at.key, "is none: systemd sends no signal at all, the process lives on after a stop, and there is no drain to look at",
			"write KillMode=mixed or control-group")
		return nil
	}
	return u.refuse(at, fmt.Sprintf("%q is not known", at.value), "write control-group, mixed or process")
}

func (u *unit) sendSIGKILL(at setting) error {
	switch strings.ToLower(at.value) {
	case "yes", "y", "true", "t", "on", "1":
		u.noSIGKILL = false
	case "no", "n", "false", "f", "off", "0":
		u.noSIGKILL = true
		u.w.Lines[at.key] = at.line
	default:
		return u.refuse(at, fmt.Sprintf("%q is neither yes nor no", at.value), "write yes or no")
	}
	return nil
}

// finish says what several settings mean together.
func (u *unit) finish() {
	w := u.w
	w.Processes, w.KillMode = []Process{u.process}, u.killMode
	if u.noSIGKILL {
		line := w.Lines["SendSIGKILL"]
		w.note("SendSIGKILL=no: whatever is left after %s is not killed", w.GraceKey)
		w.setGrace(Forever, line)
	}
	for _, at := range u.execStop {
		words := splitWords(strings.TrimLeft(at.value, "-@:+!|"))
		d, known, more := commandSleep(words)
		w.PreStopDuration += d
		switch {
		case !known:
			w.note("ExecStop on line %d runs before the stop signal, for an unknown time; 0s assumed", at.line)
		case more:
			w.note("ExecStop on line %d sleeps %s and does more; %s assumed, at least", at.line, d, d)
		}
		w.Lines["ExecStop"] = at.line
	}
	if d := w.PreStopDuration; len(u.execStop) > 1 && d > w.Grace {
		w.note("the ExecStop take %v together, as each may take %s; one %s is simulated", d, w.GraceKey, w.GraceKey)
	}
	if program := u.process.Program(); slices.Contains([]string{"docker", "podman", "nerdctl"}, program) {
		w.note("ExecStart is %s: what runs in its container may be stopped by %s stop, with a grace of its own; that of systemd is simulated", program, program)
	}
	switch u.killMode {
	case "control-group":
		w.note("KillMode control-group: the signal goes to every process of the unit, the worker's children too")
	case "mixed":
		w.note("KillMode mixed: the signal goes to the main process; what is left when it exits is killed at once")
	case "process":
		w.note("KillMode process: the signal and SIGKILL go to the main process alone; its children live on")
	}
	if u.oneshot {
		w.note("Type oneshot runs to its end and is no worker that waits for jobs")
	}
	w.close()
}
