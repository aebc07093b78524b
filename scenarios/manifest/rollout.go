package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// defaultProgressDeadline is the progress deadline of apps Deployments: ten minutes.
const defaultProgressDeadline = 600

// rollout reads what follows when the pod template changes.
func (r *reader) rollout(w *Workload, spec *yaml.Node) {
	switch w.Kind {
	case "Deployment":
		r.deployment(w, spec)
	case "StatefulSet":
		r.statefulSet(w, spec)
	case "DaemonSet":
		r.daemonSet(w, spec)
	case "Job", "Pod":
		w.Strategy.Type = Recreate
		w.note("a %s cannot be changed in place; deleting it and creating it anew is assumed", w.Kind)
	case "ReplicaSet", "ReplicationController", "CronJob":
		w.Strategy.Type = OnDelete
		w.note("a changed %s replaces no running pods; only pods made later are new", w.Kind)
	}
}

func (r *reader) deployment(w *Workload, spec *yaml.Node) {
	quarter, deadline := IntOrPercent{Value: 25, Percent: true}, defaultProgressDeadline
	if strings.HasPrefix(w.APIVersion, "extensions/") {
		quarter, deadline = IntOrPercent{Value: 1}, 0
	}
	r.strayStrategy(w, spec, "updateStrategy", "strategy")
	r.readiness(w, spec)
	w.ProgressDeadlineSeconds = r.count(spec, "progressDeadlineSeconds", deadline)
	if node := r.child(spec, "progressDeadlineSeconds"); node != nil && w.ProgressDeadlineSeconds <= w.MinReadySeconds {
		r.fail(node, "progressDeadlineSeconds", fmt.Sprintf("%d must exceed minReadySeconds %d",
			w.ProgressDeadlineSeconds, w.MinReadySeconds), "raise it or lower minReadySeconds")
	}

	strategy := r.mapping(spec, "strategy")
	rolling := r.mapping(strategy, "rollingUpdate")
	w.Strategy.Type = StrategyType(r.choice(strategy, "type", "RollingUpdate", "RollingUpdate", "Recreate"))
	if w.Strategy.Type == Recreate {
		r.forbidRolling(rolling, "Recreate")
		return
	}
	w.Strategy.MaxSurge = r.intOrPercent(rolling, "maxSurge", quarter)
	w.Strategy.MaxUnavailable = r.unavailable(rolling, quarter)
	if w.Strategy.MaxSurge.Value == 0 && w.Strategy.MaxUnavailable.Value == 0 {
		r.fail(r.either(rolling, "maxUnavailable", "maxSurge"), "maxUnavailable",
			fmt.Sprintf("%s with maxSurge %s lets no pod be replaced", w.Strategy.MaxUnavailable, w.Strategy.MaxSurge),
			"make one of them at least 1")
	}
	if !w.Strategy.MaxUnavailable.Percent && w.Strategy.MaxUnavailable.Value > w.Replicas {
		w.note("maxUnavailable %s is more than the %d replicas; all may stop at once", w.Strategy.MaxUnavailable, w.Replicas)
	}
}

func (r *reader) statefulSet(w *Workload, spec *yaml.Node) {
	fallback := "RollingUpdate"
	if w.APIVersion == "apps/v1beta1" {
		fallback = "OnDelete"
	}
	r.strayStrategy(w, spec, "strategy", "updateStrategy")
	r.readiness(w, spec)
	w.Strategy.PodManagementPolicy = r.choice(spec, "podManagementPolicy", "OrderedReady", "OrderedReady", "Parallel")
	strategy := r.mapping(spec, "updateStrategy")
	rolling := r.mapping(strategy, "rollingUpdate")
	w.Strategy.Type = StrategyType(r.choice(strategy, "type", fallback, "RollingUpdate", "OnDelete"))
	if w.Strategy.Type == OnDelete {
		r.forbidRolling(rolling, "OnDelete")
		return
	}
	w.Strategy.Partition = r.count(rolling, "partition", 0)
	if w.Strategy.Partition > 0 {
		w.note("partition %d: pods with a lower ordinal keep the old version", w.Strategy.Partition)
	}
	w.Strategy.MaxUnavailable = r.unavailable(rolling, IntOrPercent{Value: 1})
	if node := r.child(rolling, "maxUnavailable"); node != nil {
		if w.Strategy.MaxUnavailable.Value == 0 {
			r.fail(node, "maxUnavailable", w.Strategy.MaxUnavailable.String()+" lets no pod be replaced", "make it at least 1")
		}
		w.note("maxUnavailable of a StatefulSet counts only where the cluster has the feature MaxUnavailableStatefulSet")
	}
}

func (r *reader) daemonSet(w *Workload, spec *yaml.Node) {
	fallback := "RollingUpdate"
	if strings.HasPrefix(w.APIVersion, "extensions/") {
		fallback = "OnDelete"
	}
	r.strayStrategy(w, spec, "strategy", "updateStrategy")
	r.readiness(w, spec)
	strategy := r.mapping(spec, "updateStrategy")
	rolling := r.mapping(strategy, "rollingUpdate")
	w.Strategy.Type = StrategyType(r.choice(strategy, "type", fallback, "RollingUpdate", "OnDelete"))
	if w.Strategy.Type == OnDelete {
		return
	}
	w.Strategy.MaxSurge = r.notAll(rolling, "maxSurge", IntOrPercent{})
	w.Strategy.MaxUnavailable = r.unavailable(rolling, IntOrPercent{Value: 1})
	if surge, down := w.Strategy.MaxSurge, w.Strategy.MaxUnavailable; (surge.Value == 0) == (down.Value == 0) {
		r.fail(r.either(rolling, "maxSurge", "maxUnavailable"), "maxSurge",
			fmt.Sprintf("%s with maxUnavailable %s: a DaemonSet needs exactly one of them above 0", surge, down),
			"write 0 for the other")
	}
}

func (r *reader) readiness(w *Workload, spec *yaml.Node) {
	w.MinReadySeconds = r.count(spec, "minReadySeconds", 0)
}

func (r *reader) unavailable(rolling *yaml.Node, fallback IntOrPercent) IntOrPercent {
	return r.notAll(rolling, "maxUnavailable", fallback)
}

// notAll refuses more than 100%; a plain number may exceed the replicas, which can change.
func (r *reader) notAll(rolling *yaml.Node, key string, fallback IntOrPercent) IntOrPercent {
	value := r.intOrPercent(rolling, key, fallback)
	if value.Percent && value.Value > 100 {
		r.fail(r.child(rolling, key), key, value.String()+" is more than 100%", "write 100% or less")
	}
	return value
}

// forbidRolling refuses settings that the chosen type would ignore, as the API server does.
func (r *reader) forbidRolling(rolling *yaml.Node, kind string) {
	if rolling != nil {
		r.fail(rolling, "rollingUpdate", "has no meaning with type "+kind, "remove it or write type: RollingUpdate")
	}
}

// strayStrategy tells of a strategy under the key that another kind uses: nobody reads it.
func (r *reader) strayStrategy(w *Workload, spec *yaml.Node, stray, proper string) {
	if node := r.child(spec, stray); node != nil {
		w.note("%s on line %d is not a field of a %s and is ignored; did you mean %s?", stray, node.Line, w.Kind, proper)
	}
}

// either is the node to blame when two values do not go together: the first that is written.
func (r *reader) either(parent *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if node := r.child(parent, key); node != nil {
			return node
		}
	}
	return parent
}
