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
