package model

import "github.com/quiesce/quiesce/protocol"

// SupervisorKind is whose documented behaviour is followed.
type SupervisorKind uint8

// Kinds of supervisor.
const (
	Kubernetes SupervisorKind = iota
	Plain                     // SIGTERM, grace, SIGKILL and nothing else
	Systemd
	Docker // and Compose
	Nomad
	ECS     // on EC2 or elsewhere
	Fargate // ECS on Fargate
	CloudRun
	Heroku
	Fly
	Supervisord
	Render

	supervisorKinds
)

// SupervisorHabits is what a kind of supervisor does unless told otherwise, and what it cannot be told.
type SupervisorHabits struct {
	Name        string            // in scenario files
	Title       string            // in sentences
	Grace       protocol.Duration // when none is configured
	Least, Most protocol.Duration // limits of the grace; equal when nothing changes it
	Signal      protocol.Signal
	Repeat      protocol.Duration // the stop signal comes once more after this; 0 is once only
	Continues   bool              // SIGCONT follows the stop signal
	Before      string            // key of what the stop signal waits for; empty when for nothing
}

// Fixed reports whether the grace cannot be configured.
func (h *SupervisorHabits) Fixed() bool { return h.Least == h.Most }

// herokuRepeat is an assumption. Heroku says that a process may get SIGTERM several times; it
// does not say when. The usual way is a signal to every process of the dyno, which a parent
// then passes on once more.
const herokuRepeat = 100 * protocol.Millisecond

// supervisorHabits is one row per kind, from the documentation of each:
//
//   - Kubernetes, PodSpec v1 core, terminationGracePeriodSeconds.
//   - systemd.service, TimeoutStopSec= (DefaultTimeoutStopSec=90s); systemd.kill, KillSignal=:
//     "right after sending the signal specified in this setting, systemd will always send
//     SIGCONT, to ensure that even suspended tasks can be terminated cleanly".
//   - Docker, "docker container stop", and the Compose specification, stop_grace_period,
//     stop_signal.
//   - Nomad, "task Block", kill_timeout, kill_signal ("the default is SIGINT"; the Docker driver
//     uses the image's), "client Block", max_kill_timeout.
//   - ECS, task definition parameters, stopTimeout; agent configuration,
//     ECS_CONTAINER_STOP_TIMEOUT (at least 1 s); at most 120 s on Fargate.
//   - Cloud Run, container runtime contract, "Container instance shutdown".
//   - Heroku, "Dyno Shutdown Behavior".
//   - Fly, fly.toml, kill_signal and kill_timeout (the reference gives SIGINT, the page on long
//     tasks SIGTERM; the reference is followed).
//   - Supervisor, [program:x], stopsignal and stopwaitsecs.
//   - Render, "Zero-Downtime Deploys", maxShutdownDelaySeconds.
var supervisorHabits = [supervisorKinds]SupervisorHabits{
	Kubernetes:  {Name: "kubernetes", Title: "Kubernetes", Grace: 30 * protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM, Before: "prestop"},
	Plain:       {Name: "plain", Title: "a plain supervisor", Grace: 30 * protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM},
	Systemd:     {Name: "systemd", Title: "systemd", Grace: 90 * protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM, Continues: true, Before: "exec_stop"},
	Docker:      {Name: "docker", Title: "Docker", Grace: 10 * protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM},
	Nomad:       {Name: "nomad", Title: "Nomad", Grace: 5 * protocol.Second, Most: 30 * protocol.Second, Signal: protocol.SIGINT, Before: "shutdown_delay"},
	ECS:         {Name: "ecs", Title: "ECS", Grace: 30 * protocol.Second, Least: protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM},
	Fargate:     {Name: "fargate", Title: "Fargate", Grace: 30 * protocol.Second, Least: protocol.Second, Most: 2 * protocol.Minute, Signal: protocol.SIGTERM},
	CloudRun:    {Name: "cloud-run", Title: "Cloud Run", Grace: 10 * protocol.Second, Least: 10 * protocol.Second, Most: 10 * protocol.Second, Signal: protocol.SIGTERM},
	Heroku:      {Name: "heroku", Title: "Heroku", Grace: 30 * protocol.Second, Least: 30 * protocol.Second, Most: 30 * protocol.Second, Signal: protocol.SIGTERM, Repeat: herokuRepeat},
	Fly:         {Name: "fly", Title: "Fly", Grace: 5 * protocol.Second, Most: 5 * protocol.Minute, Signal: protocol.SIGINT},
	Supervisord: {Name: "supervisord", Title: "supervisord", Grace: 10 * protocol.Second, Most: protocol.Forever, Signal: protocol.SIGTERM},
	Render:      {Name: "render", Title: "Render", Grace: 30 * protocol.Second, Least: protocol.Second, Most: 5 * protocol.Minute, Signal: protocol.SIGTERM},
}

// Habits returns what the kind does unless told otherwise. The result is shared: only read it.
func (k SupervisorKind) Habits() *SupervisorHabits { return &supervisorHabits[k] }

// String returns the name of the kind in scenario files.
func (k SupervisorKind) String() string { return supervisorHabits[k].Name }

// SupervisorNames returns the names of all kinds, in the order of the documentation.
func SupervisorNames() []string {
	names := make([]string, len(supervisorHabits))
	for i := range supervisorHabits {
		names[i] = supervisorHabits[i].Name
	}
	return names
}

// SupervisorNamed returns the kind with a name; ok is false when there is none.
func SupervisorNamed(name string) (kind SupervisorKind, ok bool) {
	for i := range supervisorHabits {
		if supervisorHabits[i].Name == name {
			return SupervisorKind(i), true
		}
	}
	return 0, false
}
