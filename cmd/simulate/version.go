package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

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

// unknownCommit is that of a program built without a repository, or by go run.
const unknownCommit = "unknown"

// readVersion reads what the linker wrote into the binary.
func readVersion() version {
	v := version{Version: "(devel)", Commit: unknownCommit, Go: runtime.Version(), RulesVersion: protocol.RulesVersion}
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

// build names the program whose rows may be put together.
func build() string { return buildOf(readVersion(), binarySum) }

// buildOf names a program by its commit. One that is not committed, or does not know its commit
// as under go run, is another after every change, so it is named by its file as well.
func buildOf(v version, sum func() string) string {
	text := fmt.Sprintf("%s %s rules %d", v.Version, v.Commit, v.RulesVersion)
	if v.Modified {
		text += " modified"
	}
	if v.Modified || v.Commit == unknownCommit {
		text += ", binary " + sum()
	}
	return text
}

// binarySum is the beginning of the checksum of the program's own file.
var binarySum = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close() // only read from: closing it cannot lose anything
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
})

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
