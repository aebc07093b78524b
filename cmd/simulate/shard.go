package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

func shardName(h lab.Shard) string { return fmt.Sprintf("shard-%d-of-%d", h.Index, h.Of) }

// compareShard carries out one shard and leaves it in --out.
func (a *app) compareShard(ctx context.Context, c *comparison, scenes []*scene, kept *journal) error {
	sheet := lab.Sheet{Format: meter.FormatVersion, Build: build(), Index: c.shard.Index, Of: c.shard.Of}
	runs := 0
	for _, s := range scenes {
		plan := c.plan(s)
		results, err := a.carryOut(ctx, c, s, &plan, kept)
		if isStop(err) {
			return &stoppedError{fmt.Sprintf("stopped before shard %v was done%s", c.shard, kept.advice())}
		}
		if err != nil {
			return err
		}
		facts, err := json.Marshal(s.tell(plan.Policies))
		if err != nil {
			return err
		}
		part, err := lab.NewPart(&plan, results, facts)
		if err != nil {
			return err
		}
		sheet.Parts = append(sheet.Parts, part)
		runs += len(results.Seeds) * len(plan.Policies)
	}
	name := shardName(c.shard) + ".json"
	if err := saveAll(c.dir, map[string]write{name: sheet.Write}); err != nil {
		return err
	}
	if err := a.finish(kept, c.quiet); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "shard %v, %s, is in %s/%s; when all %d are done: simulate merge %s/shard-*-of-%d.json\n",
		c.shard, plural(runs, "run"), c.dir, name, c.shard.Of, c.dir, c.shard.Of)
	return nil
}

func (a *app) mergeCommand() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Put the shards of a comparison together",
		Long: `Put the shards of a comparison together.

The files are those that simulate compare --shard left, all of them, in any order and from
whatever machines. What is printed is, byte for byte, what one run of the whole comparison
prints, but for what JSON has under "meta".`,
		Example: `  simulate compare --seeds 400 --shard 0/2 --out shards
  simulate compare --seeds 400 --shard 1/2 --out shards
  simulate merge shards/shard-*-of-2.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.merge(args, &o) },
	}
	o.flags(cmd)
	return cmd
}

func (a *app) merge(files []string, o *output) error {
	if len(files) == 0 {
		return misuse("merge takes the files that compare --shard left; write simulate merge shards/shard-*.json")
	}
	if err := checkOut(o.dir, "compare"); err != nil {
		return err
	}
	var sheets []lab.NamedSheet
	for _, file := range files {
		sheet, err := readSheet(file)
		if err != nil {
			return err
		}
		sheets = append(sheets, lab.NamedSheet{File: file, Sheet: sheet})
	}
	joined, err := lab.Join(sheets)
	if err != nil {
		return misuse("%v", err)
	}
	var all reports
	for _, j := range joined {
		var t told
		if err := strictly(j.Facts, &t); err != nil {
			return misuse("%s: what it says of %s cannot be read: %v; run the shard again with this program", files[0], j.Scenario, err)
		}
		plan := lab.Plan{Policies: j.Policies, Seeds: j.Asked, First: j.First}
		all.add(newComparison(t.scene(), plan, j.Results, (&comparison{}).repeats(&plan)), j.Results)
	}
	if err := a.print(all.printable(), o.format, o.dir, "compare"); err != nil {
		return err
	}
	return firstFinding(all.all)
}

func readSheet(file string) (*lab.Sheet, error) {
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, misuse("there is no file %s; merge takes the files that compare --shard left", file)
		}
		return nil, misuse("%v", err)
	}
	defer f.Close() // only read from: closing it cannot lose anything
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, misuse("%s is a folder; write %s/shard-*.json", file, file)
	}
	sheet, err := lab.ReadSheet(f)
	if err != nil {
		return nil, misuse("%s: %v", file, err)
	}
	return sheet, nil
}
