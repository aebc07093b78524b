package manifest

import (
	"slices"
	"strings"
)

// kind is what differs between the workloads that are read.
type kind struct {
	groups   []string // of apiVersion; "" is the core group
	podSpec  []string // the path to the pod spec
	replicas string   // the key under spec that holds the number of pods, if any
	restarts []string // the restart policies the API server takes
}

var (
	inTemplate = []string{"spec", "template", "spec"}
	always     = []string{"Always"}
	toTheEnd   = []string{"OnFailure", "Never"}
)

var kinds = map[string]kind{
	"Deployment":            {[]string{"apps", "extensions"}, inTemplate, "replicas", always},
	"StatefulSet":           {[]string{"apps", "extensions"}, inTemplate, "replicas", always},
	"DaemonSet":             {[]string{"apps", "extensions"}, inTemplate, "", always},
	"ReplicaSet":            {[]string{"apps", "extensions"}, inTemplate, "replicas", always},
	"ReplicationController": {[]string{""}, inTemplate, "replicas", always},
	"Job":                   {[]string{"batch", "extensions"}, inTemplate, "parallelism", toTheEnd},
	"CronJob": {[]string{"batch"}, []string{"spec", "jobTemplate", "spec", "template", "spec"},
		"parallelism", toTheEnd},
	"Pod": {[]string{""}, []string{"spec"}, "", []string{"Always", "OnFailure", "Never"}},
}

// isWorkload also looks at the group: other groups have kinds of the same name that mean
// something else. A missing apiVersion passes here and is refused when the workload is read.
func isWorkload(name, apiVersion string) bool {
	k, ok := kinds[name]
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return ok && (apiVersion == "" || slices.Contains(k.groups, group))
}

// properKind finds the spelling of a kind that was written in the wrong case.
func properKind(name string) (string, bool) {
	for proper := range kinds {
		if name != proper && strings.EqualFold(name, proper) {
			return proper, true
		}
	}
	return "", false
}
