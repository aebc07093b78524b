package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/scenarios/manifest"
)

// Exit statuses.
const (
	exitFine    = 0
	exitFinding = 1 // also: stopped before the end
	exitMisuse  = 2
)

// app is one invocation of the command.
type app struct {
	stdout, stderr io.Writer
}

// run carries out one command line and returns its exit status. It is all of main that a
// test needs.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for os.Args
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.status(root.ExecuteContext(ctx))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "simulate",
		Short:         "Measure what each way of stopping job workers costs",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // judged below, with a suggestion
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misuse("there is no command %q; %s", args[0], suggest(args[0], commandNames(cmd)))
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.compareCommand(), a.mergeCommand(), a.runCommand(), a.replayCommand(), a.fleetCommand(), a.calibrateCommand(), a.curvesCommand(), a.exploreCommand(), a.huntCommand(), a.selftestCommand(), a.explainCommand(), a.importCommand(), a.checkCommand(), a.adviseCommand(), a.scenariosCommand(), a.guardCommand(), a.versionCommand())
	return root
}

// helpCommand is cobra's, but for what happens on a word that is no command: there it prints the
// help of all of them, with status 0.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return at.Help()
			}
			if at == nil {
				at = cmd.Root()
			}
			if len(rest) == 0 {
				rest = args
			}
			if !at.HasAvailableSubCommands() {
				return misuse("%s has no commands of its own; leave %s out", at.CommandPath(), quote(rest[0]))
			}
			return misuse("there is no command %q; %s", rest[0], suggest(rest[0], commandNames(at)))
		},
	}
}

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// stoppedError reports that a signal ended a run early; what was finished is printed by then.
type stoppedError struct{ text string }

func (e *stoppedError) Error() string { return e.text }

// findingError reports that what was looked at is not as it should be; what is wrong with it
// is printed by then.
type findingError struct{ text string }

func (e *findingError) Error() string { return e.text }

// status prints what went wrong, if anything, and chooses the exit status.
func (a *app) status(err error) int {
	if err == nil {
		return exitFine
	}
	if code, ok := passedOn(err); ok {
		return code // the worker has said what there is to say
	}
	var (
		stopped *stoppedError
		finding *findingError
		input   *scenarios.Error
		listed  *manifest.Error
	)
	switch {
	case errors.As(err, &stopped), errors.As(err, &finding):
		fmt.Fprintln(a.stderr, "simulate:", err)
		return exitFinding
	case errors.As(err, &input), errors.As(err, &listed):
		// It begins with file:line:column, which editors look for at the start of a line.
		fmt.Fprintln(a.stderr, err)
	default:
		fmt.Fprintln(a.stderr, "simulate:", err)
	}
	return exitMisuse
}

// flagError says which flag is wrong and what to write instead.
func flagError(cmd *cobra.Command, err error) error {
	var (
		value   *pflag.InvalidValueError
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &value):
		given := value.GetValue()
		if given == "" {
			given = "''"
		}
		if value.GetFlag().Value.Type() == "bool" {
			return misuse("--%s %s: is neither true nor false; write --%s alone, or --%s=false", value.GetFlag().Name, given, value.GetFlag().Name, value.GetFlag().Name)
		}
		return misuse("--%s %s: %v", value.GetFlag().Name, given, value.Unwrap())
	case errors.As(err, &missing):
		return misuse("--%s needs a value; write --%s %s", missing.GetSpecifiedName(), missing.GetSpecifiedName(), missing.GetFlag().Value.Type())
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if group := unknown.GetSpecifiedShortnames(); group != "" {
			return misuse("there is no flag -%s; flags have long names: %s", name, strings.Join(flagNames(cmd), " "))
		}
		return misuse("%s has no flag --%s; %s", cmd.CommandPath(), name, suggest("--"+name, flagNames(cmd)))
	default:
		return misuse("%v", err)
	}
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}
