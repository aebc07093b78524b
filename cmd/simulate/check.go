package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/manifest/lint"
)

type checking struct {
	options  lint.Options
	selector string
	format   string
	quiet    bool
}

func (a *app) checkCommand() *cobra.Command {
	var c checking
	cmd := &cobra.Command{
		Use:   "check MANIFEST...",
		Short: "Look for what keeps workers from coming to rest in the manifests that deploy them",
		Long: `Look for what keeps workers from coming to rest in the manifests that deploy them.

Read are Kubernetes manifests, Compose files, systemd units, Nomad jobs, ECS definitions, fly.toml,
Cloud Run services, Procfiles, supervisord configurations and render.yaml; of a folder every file
in it that looks like one. Templates must be rendered first.

An error is what cannot work: a grace that does not hold what a drain needs, a hook that uses it up,
a worker that is told more than it gets. A warning works and costs; a note ought to be a decision.
Every finding has a name, and docs/supervisors.md says what each of them rests on.

Exit status 0: no error; 1: an error was found; 2: a manifest cannot be read.`,
		Example: `  simulate check deploy.yaml
  simulate check k8s/ compose.yaml render.service
  helm template . | simulate check /dev/stdin
  simulate check deploy.yaml --longest-job 4m --undo 10s --format json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misuse("check takes manifests, or folders of them; write simulate check FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.check(args, &c) },
	}
	f := cmd.Flags()
	f.Var(spanFlag(&c.options.Undo, lint.DefaultUndo), "undo", "how long the slowest undo takes; what a worker assumes unless a kind declares it")
	f.Var(spanFlag(&c.options.Gap, 0), "gap", "how long a handler goes at most without looking for its cancellation")
	f.Var(spanFlag(&c.options.LongestJob, 0), "longest-job", "how long a job takes at most; warns of a grace that it outlasts")
	f.Var(pathFlag(&c.selector, "NAME", "workload"), "select", "name or kind/name of the only workload to look at")
	f.Var(formatFlag(&c.format, asTable, asJSON, asCSV), "format", "how the findings are printed")
	f.BoolVar(&c.quiet, "quiet", false, "errors and warnings alone, and nothing when there are none")
	return cmd
}

// spanFlag is a length of time that may be zero.
func spanFlag(to *time.Duration, unset time.Duration) *value {
	*to = unset
	return &value{kind: "1m30s", text: shortSpan(unset), set: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > 365*24*time.Hour {
			return fmt.Errorf("is not a length of time; write it like 90s or 1m30s")
		}
		*to = d
		return nil
	}}
}

// shortSpan is empty for nothing.
func shortSpan(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return short(protocol.Duration(d))
}

func (a *app) check(paths []string, c *checking) error {
	workloads, files, err := lint.Read(paths)
	if err != nil {
		return err
	}
	if c.selector != "" {
		if workloads, err = selected(workloads, c.selector); err != nil {
			return err
		}
	}
	r := &checkReport{files: files, workloads: workloads, findings: lint.Check(workloads, c.options), quiet: c.quiet}
	if c.quiet {
		r.findings = without(r.findings, lint.Note)
	}
	if err := a.print(r, c.format, "", ""); err != nil {
		return err
	}
	if n := lint.Count(r.findings, lint.Error); n > 0 {
		return &findingError{fmt.Sprintf("%s; see above", plural(n, "error"))}
	}
	return nil
}

func selected(all []manifest.Workload, selector string) ([]manifest.Workload, error) {
	var some []manifest.Workload
	var ids, names []string
	for _, w := range all {
		ids = append(ids, w.ID())
		names = append(names, w.Name)
		if w.Matches(selector) {
			some = append(some, w)
		}
	}
	if len(some) == 0 {
		if !strings.Contains(selector, "/") {
			ids = names
		}
		return nil, misuse("--select %s: there is no such workload; %s", selector, suggest(selector, ids))
	}
	return some, nil
}

func without(all []lint.Finding, s lint.Severity) []lint.Finding {
	var rest []lint.Finding
	for _, f := range all {
		if f.Severity != s {
			rest = append(rest, f)
		}
	}
	return rest
}
