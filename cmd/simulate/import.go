package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/plots"
	"github.com/quiesce/quiesce/scenarios"
	"github.com/quiesce/quiesce/scenarios/trace"
)

type importing struct {
	columns trace.Map
	out     string
	summary bool
	format  string
	quiet   bool
}

func (a *app) importCommand() *cobra.Command {
	var in importing
	cmd := &cobra.Command{
		Use:   "import FILE [--map arrival=COL,duration=COL] [--out FILE.csv]",
		Short: "Turn a job trace of any form into arrival,duration,kind, and say what is in it",
		Long: `Turn a job trace of any form into arrival,duration,kind, and say what is in it.

Read are CSV and JSON, SWF, job lists of GitHub Actions and the Azure Functions trace, gzipped
or not. --map names the columns or keys that have other names: two of arrival, duration and
end, and kind. A unit after a colon says what plain numbers are: duration=exec_ms:ms.

The trace goes to stdout or into --out, sorted, in seconds since the first arrival; what is in
it goes to stderr. With --summary only that is printed, to stdout. Beside --out jobs.csv stand
jobs.png and jobs.svg, a figure of how long the jobs run and when they arrive.`,
		Example: `  simulate import jobs.json --out jobs.csv
  simulate import requests.csv.gz --map arrival=created_at,duration=exec_ms:ms,kind=queue --summary
  simulate import log.csv --map arrival=started,end=finished > jobs.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("import takes one file with a job trace, and there are %d; write simulate import FILE", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.importTrace(cmd, args[0], &in) },
	}
	f := cmd.Flags()
	f.Var(mapFlag(&in.columns), "map", "columns of the trace, when they have other names")
	f.Var(pathFlag(&in.out, "FILE", "file"), "out", "CSV file to write the trace to, instead of stdout")
	f.BoolVar(&in.summary, "summary", false, "print what is in the trace, and the trace only into --out")
	f.Var(formatFlag(&in.format, asTable, asJSON), "format", "how the summary is printed")
	f.BoolVar(&in.quiet, "quiet", false, "no summary on stderr")
	return cmd
}

func mapFlag(to *trace.Map) *value {
	return &value{kind: "arrival=COL,duration=COL", set: func(s string) (err error) {
		*to, err = trace.ParseMap(s)
		return err
	}}
}

// importTrace reads the file twice: once to the end before anything is written, so that a
// bad row in the middle leaves nothing behind that looks like a trace.
func (a *app) importTrace(cmd *cobra.Command, path string, in *importing) error {
	if cmd.Flags().Changed("out") && in.out == "" {
		return misuse("--out needs the name of a file")
	}
	if err := checkTraceOut(path, in.out); err != nil {
		return err
	}
	ctx := cmd.Context()
	profile, err := scenarios.ProfileTrace(ctx, path, in.columns)
	switch {
	case ctx.Err() != nil:
		return &stoppedError{"stopped while the trace was read; nothing is written"}
	case err != nil:
		return err
	}
	var summary bytes.Buffer
	if err := writeProfile(&summary, path, &profile, in.format); err != nil {
		return err
	}
	switch {
	case in.out != "":
		err = saveTrace(ctx, path, in, &profile)
	case !in.summary:
		if err = scenarios.WriteTrace(untilStopped{ctx, a.stdout}, path, in.columns); err != nil && !errors.As(err, new(*scenarios.Error)) {
			err = fmt.Errorf("the trace cannot be written to stdout: %w", err)
		}
	}
	switch {
	case err != nil && ctx.Err() != nil && in.out != "":
		return &stoppedError{fmt.Sprintf("stopped while the trace was written; %s is as it was", in.out)}
	case err != nil && ctx.Err() != nil:
		return &stoppedError{"stopped while the trace was written; what stdout has is a part of it"}
	case err != nil:
		return err
	case in.summary:
		return a.show(&summary)
	case !in.quiet:
		_, err = a.stderr.Write(summary.Bytes())
	}
	return err
}

// checkTraceOut refuses an --out that nothing can be written to, before the long trace at path is read.
func checkTraceOut(path, out string) error {
	if out == "" {
		return nil
	}
	if isFolder(out) {
		return misuse("--out %s is a folder; name a file in it, for example --out %s", out, filepath.Join(out, "jobs.csv"))
	}
	if what := notAFile(out); what != "" {
		return misuse("--out %s is %s; name a file, or leave --out away to have the trace on stdout", out, what)
	}
	if sameFile(path, out) {
		return misuse("--out %s is the trace that is read, and would be overwritten; name another file", out)
	}
	if plain, ok := strings.CutSuffix(out, ".gz"); ok {
		return misuse("--out %s would be called compressed and is not; write --out %s, and gzip it afterwards", out, plain)
	}
	names := []string{filepath.Base(out)}
	for _, format := range figureFormats {
		figure := figureName(out, format)
		if figure == names[0] {
			return misuse("--out %s is what the figure beside the trace is called; name a CSV file, for example --out %s", out, filepath.Join(filepath.Dir(out), figureName(out, "csv")))
		}
		names = append(names, figure)
	}
	return checkFiles(filepath.Dir(out), names...)
}

// saveTrace writes the trace and its figure. All files appear whole or none does.
func saveTrace(ctx context.Context, path string, in *importing, p *trace.Profile) error {
	var bad *scenarios.Error
	figure := profileFigure(path, p, in.repeat(path))
	files := map[string]write{filepath.Base(in.out): func(w io.Writer) error {
		err := scenarios.WriteTrace(untilStopped{ctx, w}, path, in.columns)
		errors.As(err, &bad)
		return err
	}}
	for _, format := range figureFormats {
		files[figureName(in.out, format)] = func(w io.Writer) error { return plots.Write(w, figure, format) }
	}
	err := saveAll(filepath.Dir(in.out), files)
	if bad != nil {
		return bad // The file changed since it was read first.
	}
	return err
}

// repeat is the command that imports the same again.
func (in *importing) repeat(path string) string {
	command := "simulate import " + quote(path)
	if columns := in.columns.String(); columns != "" {
		command += " --map " + quote(columns)
	}
	return command + " --out " + quote(in.out)
}

// untilStopped refuses to write on once the command is told to stop.
type untilStopped struct {
	ctx context.Context
	to  io.Writer
}

func (u untilStopped) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.to.Write(b)
}
