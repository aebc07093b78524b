package manifest

import (
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// Supervision is how the workload's processes are stopped and replaced, as the model plays it.
// A stop signal that means nothing to a worker is taken for the supervisor's own.
func (w *Workload) Supervision() model.Supervisor {
	return model.Supervisor{
		Kind: w.Supervisor, Grace: protocol.Duration(w.Grace), PreStop: protocol.Duration(w.PreStopDuration),
		Signal: model.SignalNamed(w.StopSignal), Rollout: w.rollout(),
	}
}

func (w *Workload) rollout() model.Rollout {
	switch {
	case w.Strategy.Type == Recreate:
		return model.Rollout{Strategy: model.Recreate}
	case w.Strategy.Type == OnDelete:
		return model.Rollout{Strategy: model.OnDelete}
	case w.Kind == "StatefulSet":
		return model.Rollout{Strategy: model.OneByOne, Partition: w.Strategy.Partition}
	default:
		// Numbers of pods, since a DaemonSet rounds its percentages the other way.
		return model.Rollout{
			MaxSurge:       model.IntOrPercent{Value: w.Surge()},
			MaxUnavailable: model.IntOrPercent{Value: w.Unavailable()},
		}
	}
}

// GraceName is what the manifest calls the grace.
func (w *Workload) GraceName() string {
	if w.GraceKey == "" {
		return "terminationGracePeriodSeconds"
	}
	return w.GraceKey
}
