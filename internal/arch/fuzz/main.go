// Command fuzz runs every fuzz target of the module in turn, each for a while; go test does
// one at a time, and only when it is told which.
//
//	go run ./internal/arch/fuzz -time 20s
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	flags.SetOutput(stderr)
	length := flags.Duration("time", 20*time.Second, "how long each target runs")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	targets, err := list(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "fuzz:", err)
		return 2
	}
	var failed []string
	for _, t := range targets {
		fmt.Fprintf(stdout, "== %s in %s, %s\n", t.name, t.pkg, *length)
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", length.String(), t.pkg)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Run(); err != nil {
			failed = append(failed, t.name+" in "+t.pkg)
		}
	}
	if len(failed) > 0 {
		fmt.Fprintf(stderr, "fuzz: %d of %d targets failed: %s; the input is under testdata/fuzz: keep it there as a test\n",
			len(failed), len(targets), strings.Join(failed, ", "))
		return 1
	}
	fmt.Fprintf(stdout, "== %d targets, nothing found\n", len(targets))
	return 0
}

type target struct{ name, pkg string }

// list asks go test, which prints the names of a package's targets and then the package.
func list(ctx context.Context) ([]target, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-list", "^Fuzz", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, &stderr)
	}
	var all []target
	named := 0 // targets before it know their package
	for line := range strings.Lines(string(out)) {
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case strings.HasPrefix(words[0], "Fuzz"):
			all = append(all, target{name: words[0]})
		case words[0] == "ok":
			for ; named < len(all); named++ {
				all[named].pkg = words[1]
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no fuzz target was found; run it inside the module")
	}
	return all, nil
}
