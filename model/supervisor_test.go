package model

import (
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
)

// The sentences are those of each supervisor's documentation (see supervisorHabits), shortened.
func TestASupervisorStopsAProcessAsItsDocumentationSays(t *testing.T) {
	const (
		now     = protocol.Instant(100 * second)
		unset   = protocol.Duration(-1)
		quit    = protocol.Signal(3)
		forever = protocol.Forever
		ms      = protocol.Millisecond
	)
	at := func(d protocol.Duration) protocol.Instant { return now.Add(d) }
	once := protocol.Never
	cases := map[string]struct {
		s    Supervisor // with Grace unset the kind's own
		plan StopPlan
		told protocol.Duration
	}{
		"Kubernetes: the default is 30 seconds": {Supervisor{Kind: Kubernetes, Grace: unset},
			StopPlan{at(0), once, at(30 * second), protocol.SIGTERM, false}, 30 * second},
		"Kubernetes: without a hook the stop signal comes at once and SIGKILL at the end of the grace": {Supervisor{Kind: Kubernetes, Grace: 40 * second},
			StopPlan{at(0), once, at(40 * second), protocol.SIGTERM, false}, 40 * second},
		"Kubernetes: the hook runs before the stop signal, and the grace counts from its begin": {Supervisor{Kind: Kubernetes, Grace: 30 * second, PreStop: 12 * second},
			StopPlan{at(12 * second), once, at(30 * second), protocol.SIGTERM, false}, 18 * second},
		"Kubernetes: a hook that still runs at the end of the grace is granted two seconds, once": {Supervisor{Kind: Kubernetes, Grace: 30 * second, PreStop: 50 * second},
			StopPlan{at(30 * second), once, at(32 * second), protocol.SIGTERM, false}, 2 * second},
		"Kubernetes: a hook that takes exactly the grace has overrun it": {Supervisor{Kind: Kubernetes, Grace: 30 * second, PreStop: 30 * second},
			StopPlan{at(30 * second), once, at(32 * second), protocol.SIGTERM, false}, 2 * second},
		"Kubernetes: the value zero stops immediately, there is no opportunity to shut down": {Supervisor{Kind: Kubernetes},
			StopPlan{protocol.Never, once, at(0), 0, false}, 0},
		"Kubernetes: the value zero leaves no time for a hook either": {Supervisor{Kind: Kubernetes, PreStop: 5 * second},
			StopPlan{protocol.Never, once, at(0), 0, false}, 0},
		"Kubernetes: lifecycle.stopSignal replaces SIGTERM": {Supervisor{Kind: Kubernetes, Grace: 30 * second, Signal: quit},
			StopPlan{at(0), once, at(30 * second), quit, false}, 30 * second},

		"plain: it knows no hooks": {Supervisor{Kind: Plain, Grace: 10 * second, PreStop: 5 * second},
			StopPlan{at(0), once, at(10 * second), protocol.SIGTERM, false}, 10 * second},
		"plain: without grace it kills": {Supervisor{Kind: Plain},
			StopPlan{protocol.Never, once, at(0), 0, false}, 0},

		"systemd: the default is 90 seconds, and SIGCONT follows right after the stop signal": {Supervisor{Kind: Systemd, Grace: unset},
			StopPlan{at(0), once, at(90 * second), protocol.SIGTERM, true}, 90 * second},
		"systemd: ExecStop runs first, and the timeout then counts anew": {Supervisor{Kind: Systemd, Grace: 20 * second, PreStop: 5 * second},
			StopPlan{at(5 * second), once, at(25 * second), protocol.SIGTERM, true}, 20 * second},
		"systemd: an ExecStop that times out is followed by SIGTERM": {Supervisor{Kind: Systemd, Grace: 20 * second, PreStop: 5 * protocol.Minute},
			StopPlan{at(20 * second), once, at(40 * second), protocol.SIGTERM, true}, 20 * second},
		"systemd: infinity, or SendSIGKILL=no, never kills": {Supervisor{Kind: Systemd, Grace: forever},
			StopPlan{at(0), once, protocol.Never, protocol.SIGTERM, true}, 365 * 24 * protocol.Hour},
		"systemd: KillSignal replaces SIGTERM": {Supervisor{Kind: Systemd, Grace: 20 * second, Signal: quit},
			StopPlan{at(0), once, at(20 * second), quit, true}, 20 * second},

		"Docker: SIGTERM, and after 10 seconds SIGKILL": {Supervisor{Kind: Docker, Grace: unset},
			StopPlan{at(0), once, at(10 * second), protocol.SIGTERM, false}, 10 * second},
		"Compose: stop_signal and stop_grace_period replace them": {Supervisor{Kind: Docker, Grace: 5 * protocol.Minute, Signal: protocol.SIGINT},
			StopPlan{at(0), once, at(5 * protocol.Minute), protocol.SIGINT, false}, 5 * protocol.Minute},

		"Nomad: SIGINT, and after 5 seconds SIGKILL": {Supervisor{Kind: Nomad, Grace: unset},
			StopPlan{at(0), once, at(5 * second), protocol.SIGINT, false}, 5 * second},
		"Nomad: kill_timeout is limited by the client's max_kill_timeout, 30 seconds": {Supervisor{Kind: Nomad, Grace: 2 * protocol.Hour},
			StopPlan{at(0), once, at(30 * second), protocol.SIGINT, false}, 30 * second},
		"Nomad: shutdown_delay passes between deregistering and the signal, and uses up no kill_timeout": {Supervisor{Kind: Nomad, Grace: 25 * second, PreStop: 10 * second},
			StopPlan{at(10 * second), once, at(35 * second), protocol.SIGINT, false}, 25 * second},

		"ECS: the default is 30 seconds": {Supervisor{Kind: ECS, Grace: unset},
			StopPlan{at(0), once, at(30 * second), protocol.SIGTERM, false}, 30 * second},
		"ECS: on EC2 stopTimeout has no limit": {Supervisor{Kind: ECS, Grace: 300 * second},
			StopPlan{at(0), once, at(300 * second), protocol.SIGTERM, false}, 300 * second},
		"ECS: the least is one second": {Supervisor{Kind: ECS},
			StopPlan{at(0), once, at(second), protocol.SIGTERM, false}, second},
		"Fargate: the most is 120 seconds": {Supervisor{Kind: Fargate, Grace: 300 * second},
			StopPlan{at(0), once, at(120 * second), protocol.SIGTERM, false}, 120 * second},

		"Cloud Run: ten seconds, whatever is configured": {Supervisor{Kind: CloudRun, Grace: 300 * second},
			StopPlan{at(0), once, at(10 * second), protocol.SIGTERM, false}, 10 * second},

		"Heroku: thirty seconds, and SIGTERM may come several times": {Supervisor{Kind: Heroku, Grace: unset},
			StopPlan{at(0), at(100 * ms), at(30 * second), protocol.SIGTERM, false}, 30 * second},
		"Heroku: a later repeat is a second request": {Supervisor{Kind: Heroku, Grace: unset, Repeat: 5 * second},
			StopPlan{at(0), at(5 * second), at(30 * second), protocol.SIGTERM, false}, 30 * second},

		"Fly: SIGINT, and after 5 seconds SIGKILL": {Supervisor{Kind: Fly, Grace: unset},
			StopPlan{at(0), once, at(5 * second), protocol.SIGINT, false}, 5 * second},
		"Fly: the most is five minutes": {Supervisor{Kind: Fly, Grace: protocol.Hour, Signal: protocol.SIGTERM},
			StopPlan{at(0), once, at(5 * protocol.Minute), protocol.SIGTERM, false}, 5 * protocol.Minute},

		"supervisord: TERM, and after 10 seconds KILL": {Supervisor{Kind: Supervisord, Grace: unset},
			StopPlan{at(0), once, at(10 * second), protocol.SIGTERM, false}, 10 * second},
		"Render: the default is 30 seconds": {Supervisor{Kind: Render, Grace: unset},
			StopPlan{at(0), once, at(30 * second), protocol.SIGTERM, false}, 30 * second},
		"Render: the most is 300 seconds": {Supervisor{Kind: Render, Grace: protocol.Hour},
			StopPlan{at(0), once, at(300 * second), protocol.SIGTERM, false}, 300 * second},

		"a repeat that would come after SIGKILL does not come": {Supervisor{Kind: Plain, Grace: 10 * second, Repeat: 10 * second},
			StopPlan{at(0), once, at(10 * second), protocol.SIGTERM, false}, 10 * second},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if c.s.Grace == unset {
				c.s.Grace = c.s.Kind.Habits().Grace
			}
			assert.Equal(t, c.plan, c.s.Stop(now))
			assert.Equal(t, c.told, c.s.WorkerGrace(), "what a worker can be told at its start")
		})
	}
}

func TestAWorkerThatItsHookTellsIsToldOfTheWholeGrace(t *testing.T) {
	s := Supervisor{Kind: Kubernetes, Grace: 30 * second, PreStop: 12 * second}
	assert.Equal(t, 18*second, s.WorkerGrace(), "the hook says nothing")
	s.Tells = true
	assert.Equal(t, 30*second, s.WorkerGrace())
	s.PreStop = 50 * second
	assert.Equal(t, 30*second, s.WorkerGrace(), "an overrun comes after it")
	s.PreStop, s.Grace = 12*second, protocol.Forever
	assert.Equal(t, 365*24*protocol.Hour, s.WorkerGrace())
	assert.Equal(t, 20*second, Supervisor{Kind: Systemd, Grace: 20 * second, Tells: true}.WorkerGrace(), "there is no hook")
}

func TestAStopIsCutShortByWhicheverComesFirst(t *testing.T) {
	const now = protocol.Instant(100 * second)
	plan := Supervisor{Kind: Kubernetes, Grace: 30 * second, PreStop: 10 * second}.Stop(now)
	never := func(protocol.Duration) (protocol.Duration, bool) { return 0, false }
	killed := func(p StopPlan) protocol.Duration { return p.Kill.Sub(now) }
	assert.Equal(t, plan, plan.CutShort(0, never), "nothing does")
	assert.Equal(t, 17*second, killed(plan.CutShort(7*second, never)), "the probe, counted from the stop signal")
	assert.Equal(t, 10*second+1, killed(plan.CutShort(1, never)))
	assert.Equal(t, 30*second, killed(plan.CutShort(25*second, never)), "the grace")
	var spans []protocol.Duration
	drill := func(span protocol.Duration) (protocol.Duration, bool) {
		spans = append(spans, span)
		return 3 * second, true
	}
	assert.Equal(t, 13*second, killed(plan.CutShort(0, drill)))
	assert.Equal(t, 13*second, killed(plan.CutShort(7*second, drill)))
	assert.Equal(t, []protocol.Duration{20 * second, 7 * second}, spans, "a drill strikes before SIGKILL")
	gone := TakenAway(now)
	assert.Equal(t, gone, gone.CutShort(second, drill), "what gets no signal drains nothing")
}

func TestShortestGraceLeavesEnoughAndNoneShorterDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Supervisor
		need protocol.Duration
		want protocol.Duration // 0: there is none
	}{
		{"all of it is the worker's", Supervisor{Kind: Plain}, 40 * protocol.Second, 40 * protocol.Second},
		{"rounded up", Supervisor{Kind: Plain}, 1500 * protocol.Millisecond, 2 * protocol.Second},
		{"a hook uses some", Supervisor{Kind: Kubernetes, PreStop: 20 * protocol.Second}, 40 * protocol.Second, 60 * protocol.Second},
		{"an overrun is no grace", Supervisor{Kind: Kubernetes, PreStop: 60 * protocol.Second}, 1500 * protocol.Millisecond, 62 * protocol.Second},
		{"the wait is outside", Supervisor{Kind: Nomad, PreStop: 20 * protocol.Second}, 10 * protocol.Second, 10 * protocol.Second},
		{"more than the supervisor allows", Supervisor{Kind: Fly}, 301 * protocol.Second, 0},
		{"nothing changes it", Supervisor{Kind: CloudRun}, 8 * protocol.Second, 1 * protocol.Second},
		{"and it is not enough", Supervisor{Kind: CloudRun}, 11 * protocol.Second, 0},
	} {
		got, ok := c.s.ShortestGrace(func(left protocol.Duration) bool { return left >= c.need })
		assert.Equal(t, c.want > 0, ok, c.name)
		assert.Equal(t, c.want, got, c.name)
	}
}
