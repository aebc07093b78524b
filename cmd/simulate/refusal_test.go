package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever is wrong with a command line or its input is said in one error on stderr that
// ends in what to write instead; nothing goes to stdout, and the exit status is 2.
func TestRefusals(t *testing.T) {
	good, err := os.ReadFile(tiny)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, bytes.Replace(good, []byte("workers"), []byte("wrokers"), 1), 0o644))
	cases := []struct {
		name, args, says string
	}{
		{"misspelt command", "comapre", "did you mean compare?"},
		{"unknown command", "frobnicate", "use one of advise, calibrate, check, compare, curves, explain, explore, fleet, guard, hunt, import, merge, replay, run, scenarios, selftest, version"},
		{"misspelt subcommand", "scenarios lsit", "did you mean list?"},
		{"misspelt flag", "compare --sedes 3", "did you mean --seeds?"},
		{"short flag", "compare -n 3", "flags have long names"},
		{"flag without value", "compare --seeds", "write --seeds N"},
		{"misspelt format", "compare --format jsn", "did you mean json?"},
		{"misspelt policy", "compare --policies crash-only,hybird", "did you mean hybrid?"},
		{"policy twice", "compare --policies hybrid,drain,hybrid", "names hybrid twice"},
		{"misspelt queue", "compare --queue asynk", "did you mean asynq?"},
		{"no queue", "compare --queue=", "use one of asynq"},
		{"queue twice", "compare --queue asynq,river,asynq", "names asynq twice; name each queue once"},
		{"queue and policy of one name", "compare --queue asynq --policies hybrid,asynq", "--queue and --policies both name asynq"},
		{"a policy that only another scenario describes", "run --policy today", "there is no policy \"today\""},
		{"no policies", "compare --policies=", "use one of none"},
		{"misspelt policy of a run", "run --policy adaptve", "did you mean adaptive?"},
		{"no seeds", "compare --seeds 0", "write at least 1"},
		{"negative seeds", "compare --seeds -3", "write at least 1"},
		{"absurd seeds", "compare --seeds 1000000", "write at most 10000"},
		{"seeds in words", "compare --seeds ten", "write for example 10"},
		{"no seeds at most", "compare --precision 2% --max-seeds 0", "--max-seeds 0: is no replication at all; write at least 1"},
		{"help on nothing", "help comapre", "did you mean compare?"},
		{"help on no subcommand", "help scenarios lsit", "did you mean list?"},
		{"neither true nor false", "compare --quiet=maybe", "--quiet maybe: is neither true nor false; write --quiet alone, or --quiet=false"},
		{"no policy", "run --policy=", "--policy '': is empty; name a policy, or leave it out"},
		{"no workload", "compare --manifest deploy.yaml --select=", "--select '': is empty; name a workload, or leave it out"},
		{"no way of stopping", "advise --manifest deploy.yaml --jobs jobs.csv --today=", "--today '': is empty"},
		{"an unset address", "fleet small-fleet --redis=", "--redis '': is empty; name a Redis, or leave it out"},
		{"an unset address of a guard", "guard --redis= -- true", "--redis '': is empty; name a Redis, or leave it out"},
		{"no address of a Redis", "fleet small-fleet --redis http://me:secret@host", "simulate: --redis is not the address of a Redis; write for example redis://localhost:6379\n"},
		{"negative seed", "run --seed -1", "write a whole number from 0"},
		{"misspelt scenario", "compare five-minute-leese", `five-minute-lease`},
		{"misspelt scenario to show", "scenarios show rolling-wav", "rolling-wave"},
		{"show nothing", "scenarios show", "takes the name of one scenario"},
		{"argument of version", "version 2", "takes no argument"},
		{"argument of hunt", "hunt five-minute-lease", "takes no argument; leave five-minute-lease out"},
		{"argument of selftest", "selftest settles-once", "takes no argument; leave settles-once out"},
		{"two scenarios", "compare rolling-wave crash-storm", "takes one scenario"},
		{"scenario and trace", "compare rolling-wave --jobs x.csv", "give either the scenario or the files"},
		{"select without manifest", "compare --select Deployment/web", "add --manifest FILE"},
		{"select with jobs only", "compare --jobs x.csv --select Deployment/web", "add --manifest FILE"},
		{"empty jobs", "compare --jobs=", "is empty; name a file"},
		{"missing trace", "compare --jobs no-such-file.csv", "no-such-file.csv"},
		{"map of nothing", "compare --jobs x.csv --map arival=a", `"arival" is nothing a job has`},
		{"map without a length", "run --jobs x.csv --map arrival=a", "--map arrival=a: does not say how long jobs run; add duration=COLUMN"},
		{"map without jobs", "replay --map arrival=a,end=b", "add --jobs TRACE"},
		{"import of nothing", "import", "write simulate import FILE"},
		{"import of two", "import a.csv b.csv", "takes one file"},
		{"import of a missing file", "import no-such-file.csv", "no-such-file.csv: does not exist"},
		{"import of a folder", "import testdata", "testdata: is a directory"},
		{"import of a scenario", "import " + tiny, tiny + ":1:1: header has no column arrival"},
		{"import into a folder", "import x.csv --out testdata", "name a file in it, for example --out testdata/jobs.csv"},
		{"import into nothing", "import x.csv --out=", "is empty; name a file"},
		{"import below a file", "import testdata/jobs.json --out " + file + "/jobs.csv", "is not a folder; name a folder to write into"},
		{"import with a bad row", "import testdata/bad-jobs.json", `testdata/bad-jobs.json:2:57: end "2024-11-15T16:57:40Z" is before arrival`},
		{"import as CSV", "import testdata/jobs.json --format csv", "use one of table, json"},
		{"missing manifest", "compare --manifest no-such-file.yaml", "no-such-file.yaml"},
		{"folder as scenario", "compare testdata", "is a directory"},
		{"misspelt key", "compare " + file, file + ":6:"},
		{"out is a file", "compare --out " + file, "is not a folder"},
		{"out is below a file", "compare --out " + file + "/results", "not a directory"},
		{"no shard", "compare --shard one --out x", "such as 0/8"},
		{"shard beyond the last", "compare --shard 8/8 --out x", "numbered 0 to 7"},
		{"negative shard", "compare --shard -1/8 --out x", "numbered 0 to 7"},
		{"no shards", "compare --shard 0/0 --out x", "there can be 1 to"},
		{"shard that leaves nothing", "compare --shard 0/8", "add --out DIR"},
		{"shard with a format", "compare --shard 0/8 --out x --format json", "give --format to simulate merge"},
		{"shard with a precision", "compare --shard 0/8 --out x --precision 2%", "give --seeds instead"},
		{"precision and seeds", "compare --precision 2% --seeds 20", "give one of them"},
		{"precision without percent", "compare --precision 0.02", "write a percentage such as 2%"},
		{"no precision", "compare --precision 0%", "from 0.01% to 100%"},
		{"precision that is no number", "compare --precision NaN%", "from 0.01% to 100%"},
		{"limit without precision", "compare --max-seeds 50", "add --precision 2%"},
		{"load in words", "compare --load high", "write shares such as 0.6,0.9"},
		{"no load", "compare --load 0", "from 0.01 to 2"},
		{"load that is no number", "compare --load NaN", "from 0.01 to 2"},
		{"load twice", "compare --load 0.6,0.6", "names 0.6 twice"},
		{"merge of nothing", "merge", "write simulate merge shards/shard-*.json"},
		{"merge of a missing file", "merge no-such-shard.json", "there is no file no-such-shard.json"},
		{"merge of a folder", "merge testdata", "is a folder"},
		{"merge of something else", "merge " + tiny, "is no shard of a comparison"},
		{"a folder without a recording", "replay testdata", "testdata is a folder without a flight recording (*.flight); name the folder that the worker records into"},
		{"page that is a folder", "replay " + tiny + " --html testdata", "such as testdata/run.html"},
		{"from after until", "replay --job 1 --from 20m --until 10m", "swap them"},
		{"from after the end", "replay " + tiny + " --job 1 --from 31m", "after the end of the run"},
		{"from without unit", "replay --job 1 --from 20", "write it like 20m"},
		{"negative from", "replay --job 1 --from -20m", "write it like 20m"},
		{"two timelines", "replay " + tiny + " --job 1 --worker 2", "give one of them"},
		{"no such number of a job", "replay " + tiny + " --job 0", "counted from 1"},
		{"no such job", "replay " + tiny + " --job 100000", "numbered in order of arrival"},
		{"no such worker", "replay " + tiny + " --worker 1000", "the seats that were used are 0 to"},
		{"no such deploy", "replay " + tiny + " --deploy 9", "there were deploys 1 to 3"},
		{"nothing then", "replay " + tiny + " --job 400 --until 1s", "no job arrived by then"},
		{"nothing in the part", "replay " + tiny + " --job 1 --from 29m", "widen them"},
		{"format of an overview", "replay " + tiny + " --format json", "add --job K"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := invoke(t.Context(), strings.Fields(c.args)...)
			assert.Equal(t, exitMisuse, r.status)
			assert.Empty(t, r.stdout)
			assert.Contains(t, r.stderr, c.says)
		})
	}
}
