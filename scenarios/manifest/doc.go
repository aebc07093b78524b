// Package manifest reads from a manifest what a deploy does to a fleet of workers: how long a
// worker has to stop and by which signal it hears of it, how many workers there are, and how a
// rollout replaces them. It reads Kubernetes manifests, Compose files, systemd units, Nomad jobs
// (HCL and JSON), ECS task and service definitions (JSON, and Terraform and CloudFormation where they are plain),
// fly.toml, Cloud Run services, Procfiles, supervisord configurations and Render blueprints.
//
// # What it promises
//
// [Parse] finds one workload in a file of any number of YAML documents and returns its
// grace, replicas, preStop hooks and rollout, each with the line it was written on. A value
// that is not written gets the default of its supervisor, and [Workload.Notes] says so
// where the default matters. A value that its tool would refuse is refused here, with its
// line, its column and what to write instead: every error is an [*Error]. Anchors, aliases
// and merge keys are followed; a key that is written twice is refused in every mapping that
// is read.
//
// A template (Helm, Go, ERB, Jinja, envsubst) is refused when a tag keeps the file from being
// YAML or stands in a value that is needed; the error names the tag and the command that
// renders it; so is an expression of Nomad or Terraform. A tag in a value that is not needed, an
// image or a label, does no harm.
//
// # What it does not
//
// It is not a validator: fields it has no use for are not looked at. Only where one that says how
// a worker stops or is replaced is missing, it looks for it under another spelling, since a default
// in its place is what nobody meant. It renders no template and asks no cluster, so an admission webhook, an
// autoscaler outside of the file or a default set by the cluster is not seen. How long a preStop hook runs is
// known only when the manifest says so: a sleep action, or a command that sleeps. Which of several
// containers works on jobs is known only when one is told QUIESCE_GRACE or the pod's annotation
// names it; otherwise it is the first. How long
// a container takes to become ready is a lower bound, the delay before its first probe.
//
// # Where the defaults come from
//
// Those of the other formats stand beside their readers and in [model.SupervisorHabits]; those of
// Kubernetes are these:
//
//   - terminationGracePeriodSeconds 30, restartPolicy Always, initialDelaySeconds 0:
//     Kubernetes API reference, "PodSpec v1 core", "Probe v1 core".
//   - replicas 1, strategy RollingUpdate with maxSurge 25% and maxUnavailable 25%,
//     minReadySeconds 0, progressDeadlineSeconds 600: "DeploymentSpec v1 apps",
//     "RollingUpdateDeployment v1 apps".
//   - partition 0, podManagementPolicy OrderedReady, maxUnavailable 1: "StatefulSetSpec v1
//     apps", "RollingUpdateStatefulSetStrategy v1 apps".
//   - maxUnavailable 1, maxSurge 0: "RollingUpdateDaemonSet v1 apps".
//   - parallelism 1: "JobSpec v1 batch".
//   - The groups before apps/v1 had other defaults: extensions/v1beta1 Deployments roll with
//     1 and 1 and have no progress deadline, extensions/v1beta1 DaemonSets and apps/v1beta1
//     StatefulSets update OnDelete: the defaulting functions of those API groups.
//
// That the grace also covers the preStop hooks, and that hooks of several containers run side
// by side, is in the Kubernetes documentation under "Pod Lifecycle", section "Termination of
// Pods", and "Container Lifecycle Hooks". Rounding is that of the controllers:
// see [Workload.Surge] and [Workload.Unavailable].
package manifest
