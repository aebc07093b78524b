package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/scenarios"
)

func (a *app) scenariosCommand() *cobra.Command {
	var format string
	list := func(*cobra.Command, []string) error { return a.listScenarios(format) }
	cmd := &cobra.Command{
		Use:   "scenarios [list|show NAME|schema]",
		Short: "The embedded scenarios, and the schema of a scenario file",
		Long: `The embedded scenarios, and the schema of a scenario file.

A scenario is a YAML file: workers, a queue, kinds of jobs, the supervisor, deploys, faults, and the
policies to compare. Only duration, fleet.workers and jobs must be written. Begin with the embedded one
that is nearest; comments at its top say what it shows. What is wrong in a file is told with its line,
its key and what to write instead.

Durations are written as in Go, with d for days (90s, 1m30s, 2d), chances as 5% or 0.05. Where a length
differs from case to case it is a distribution: {exponential: {mean: 58s}}, {p50: 45s, p99: 4m},
{uniform: {min: 0s, max: 1s}}, {pareto: {min: 1s, alpha: 1.5}}, {empirical: FILE}. Jobs arrive by
{poisson: 13/s}, {every: 2s}, or with gaps of any distribution.

The schema has every key with its meaning and its default, and editors complete and check by it: save it
as scenario.schema.json and begin a file with
# yaml-language-server: $schema=scenario.schema.json`,
		Example: `  simulate scenarios
  simulate scenarios show small-fleet > mine.yaml && simulate compare mine.yaml
  simulate scenarios schema > scenario.schema.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse("there is no command %q of simulate scenarios; %s", args[0], suggest(args[0], commandNames(cmd)))
			}
			return nil
		},
		RunE: list,
	}
	cmd.PersistentFlags().Var(formatFlag(&format, asTable, asJSON), "format", "how the list is printed")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "Name every embedded scenario and say what it shows", Args: noArguments, RunE: list},
		&cobra.Command{
			Use: "show NAME", Short: "Print an embedded scenario as a file to start from",
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) != 1 {
					return misuse("scenarios show takes the name of one scenario; %s", suggest("", scenarios.Names()))
				}
				return nil
			},
			RunE: func(_ *cobra.Command, args []string) error {
				text, err := scenarios.Source(args[0])
				if err != nil {
					return err
				}
				return a.show(bytes.NewBuffer(text))
			},
		},
		&cobra.Command{
			Use: "schema", Short: "Print the JSON Schema of a scenario file", Args: noArguments,
			RunE: func(*cobra.Command, []string) error { return a.show(bytes.NewBuffer(scenarios.Schema())) },
		},
	)
	return cmd
}

func (a *app) listScenarios(format string) error {
	type entry struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	var (
		all  []entry
		out  bytes.Buffer
		wide int
	)
	for _, name := range scenarios.Names() {
		about, err := scenarios.About(name)
		if err != nil {
			return err
		}
		all = append(all, entry{name, about})
		wide = max(wide, width(name))
	}
	if format == asJSON {
		if err := writeIndented(&out, all); err != nil {
			return err
		}
		return a.show(&out)
	}
	for _, e := range all {
		fmt.Fprint(&out, wrap(padRight(e.Name, wide)+"  ", padRight("", wide+2), e.About))
	}
	return a.show(&out)
}
