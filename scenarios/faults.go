package scenarios

import (
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
