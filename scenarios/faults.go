package scenarios

import (
	"fmt"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/dist"
)

// never is the length of a spell that never comes: a table, so that nobody has to ask for nil.
var never = new(dist.Table)

func (k *faultKeys) model() model.Faults {
	return model.Faults{
		Crash: k.Crash.MTBF.value,
		Pause: k.Pause.model(), Partition: k.Partition.model(),
		Slow: k.Slow.spellKeys.model(), SlowBy: k.Slow.By.value,
		Forget: k.Failover.Every.value, ForgetFor: k.Failover.Forgets.value,
		DriftPPM: k.Drift.value,
		Drill:    k.Drill.value, Liveness: k.Liveness.value,
		Evict:   model.Eviction{Every: k.Eviction.Every.value, Grace: k.Eviction.Grace.value},
		Preempt: model.Preemption{Every: k.Preemption.Every.value, Notice: k.Preemption.Notice.value},
		ScaleIn: model.ScaleIn{Every: k.ScaleIn.Every.value, Workers: k.ScaleIn.Workers.value, Back: k.ScaleIn.Back.value, IdleFirst: k.ScaleIn.Victims.value == "idle"},
		Network: model.Network{
			Latency: k.Network.Latency.table, Loss: k.Network.Loss.value, Duplicate: k.Network.Duplicate.value,
		},
	}
}

func (k *spellKeys) model() model.Spell {
	if k.Length.table == nil {
		return model.Spell{Length: never}
	}
	return model.Spell{Every: k.Every.value, Length: k.Length.table}
}

// stopsOfNodes refuses faults that could not do what they are for.
func (r *reader) stopsOfNodes(k *faultKeys, s *model.Scenario) {
	grace := s.Supervisor.Allowed()
	if k.Eviction.Grace.written() && k.Eviction.Grace.value >= grace {
		r.fail(k.Eviction.Grace.place, fmt.Sprintf("%v shortens nothing: the grace is %v", k.Eviction.Grace.value, grace), "write less than the grace")
	}
	if k.Liveness.written() && k.Liveness.value >= s.Supervisor.WorkerGrace() {
		r.fail(k.Liveness.place, fmt.Sprintf("%v never strikes: SIGKILL comes %v after the stop signal", k.Liveness.value, s.Supervisor.WorkerGrace()), "write less")
	}
	if n := k.ScaleIn.Workers; n.written() && n.value >= s.Fleet.Workers {
		r.fail(n.place, fmt.Sprintf("%d leaves nobody of %d workers", n.value, s.Fleet.Workers), "stop fewer, or enlarge the fleet")
	}
}
