package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/protocol"
)

type version struct {
	Version      string `json:"version"`
	Commit       string `json:"commit"`
	Modified     bool   `json:"modified"`
	Go           string `json:"go"`
	RulesVersion int    `json:"rules_version"`
}

// readVersion reads what the linker wrote into the binary.
func readVersion() version {
	v := version{Version: "(devel)", Commit: "unknown", Go: runtime.Version(), RulesVersion: protocol.RulesVersion}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Version, commit, Go release and version of the protocol's rules",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			var out bytes.Buffer
			if format == asJSON {
				if err := writeIndented(&out, v); err != nil {
					return err
				}
				return a.show(&out)
			}
			modified := ""
			if v.Modified {
				modified = ", modified"
			}
			fmt.Fprintf(&out, "simulate %s\ncommit   %s%s\ngo       %s\nrules    %d\n", v.Version, v.Commit, modified, v.Go, v.RulesVersion)
			return a.show(&out)
		},
	}
	cmd.Flags().Var(formatFlag(&format, asTable, asJSON), "format", "how it is printed")
	return cmd
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misuse("%s takes no argument; leave %s out", cmd.CommandPath(), quote(args[0]))
	}
	return nil
}
