package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
)

func fileOf(t testing.TB, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func at(seconds int) time.Duration { return time.Duration(seconds) * time.Second }

func TestFaultsOfEveryFormAreRead(t *testing.T) {
	const two = 2 * time.Minute
	for name, c := range map[string]struct {
		text    string
		want    []Fault
		skipped []Count
	}{
		"our own, out of order": {"time,seat,kind,length\n90,7,pause,1m30s\n60,1000,crash,\n1h,0,partition,20\n2h,1,preempt,\n2h,2,preempt,0\n",
			[]Fault{{at(60), 1000, Crash, 0}, {at(90), 7, Pause, 90 * time.Second},
				{at(3600), 0, Partition, 20 * time.Second}, {at(7200), 1, Preempt, two}, {at(7200), 2, Preempt, 0}}, nil},
		"our own by dates, without lengths": {"Seat;Time;note;Kind\n3;2024-11-15T16:57:50Z;x;crash\n4;2024-11-15T16:57:40Z;y;preempt\n",
			[]Fault{{0, 4, Preempt, two}, {at(10), 3, Crash, 0}}, nil},
		"Los Alamos": {"System,nodenum,Prob Started,Prob Fixed\n2,0,9/6/2005 9:13,9/6/2005 9:19\n2,,1/1/2000 0:00,1/1/2000 0:00\n20,7,9/5/2005 9:13,9/6/2005 9:19\n",
			[]Fault{{0, 7, Crash, 0}, {at(24 * 3600), 0, Crash, 0}}, []Count{{"no nodenum", 1}}},
		"a spot series": {`{"prices": [0.9, [1]], "data": [1, 1, 0, 0, 1, 0, 1], "metadata": {"x": null, "gap_seconds": 30}}` + "\n",
			[]Fault{{at(60), 0, Preempt, two}, {at(150), 1, Preempt, two}}, nil},
		"a spot fleet": {"0,add,a\n0,add,b\n1000,remove,b\n1500,add,c\n2000,remove,a\n2500,add,b\n3000,remove,b\n",
			[]Fault{{at(1), 1, Preempt, two}, {at(2), 0, Preempt, two}, {at(3), 1, Preempt, two}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadFaults(fileOf(t, "f", c.text))
			require.NoError(t, err)
			assert.Equal(t, &Faults{c.want, c.skipped}, got)
		})
	}
}

func TestBadFaultsArePlacedAndExplained(t *testing.T) {
	const header = "time,seat,kind,length\n"
	for name, c := range map[string]struct {
		text            string
		line, column    int
		problem, remedy string // parts of them
	}{
		"nothing":                 {"", 0, 0, "is empty", ""},
		"only a header":           {header, 0, 0, "has no faults", "one row"},
		"spot prices":             {"Timestamp,InstanceType,SpotPrice\n2024-01-01T00:00:00Z,m5,0.03\n", 1, 0, "is a series of prices, which does not say when an instance was taken away", "a preempt where the price was above your bid"},
		"a list of JSON":          {"[{\"time\": 1}]\n", 1, 0, "is JSON, and CSV is read here", "header line"},
		"another file":            {"arrival,duration\n0,1\n", 1, 0, "header has no column time", "time,seat,kind,length; it has arrival, duration"},
		"a bad time":              {header + "soon,1,crash,\n", 2, 1, `time "soon" is not a number`, "12.5"},
		"a negative time":         {header + "-1,1,crash,\n", 2, 1, "is negative", "0"},
		"two forms of time":       {header + "1,1,crash,\n2024-11-15T16:57:50Z,1,crash,\n", 3, 1, "line 2 holds an offset", "one form"},
		"a bad seat":              {header + "1,web-1,crash,\n", 2, 3, `"web-1" is not a number of a seat`, "modulo the size"},
		"a negative seat":         {header + "1,-1,crash,\n", 2, 3, "is not a number of a seat", "whole number"},
		"an unknown kind":         {header + "1,1,oom,\n", 2, 5, `"oom" is not a kind of fault`, "crash, pause, partition or preempt"},
		"a crash with a length":   {header + "1,1,crash,5\n", 2, 11, "a crash has no length", "leave it empty"},
		"a pause without one":     {header + "1,1,pause,\n", 2, 11, "a pause needs a length", "30s"},
		"no column for it":        {"time,seat,kind\n1,1,partition\n", 2, 5, "a partition needs a length", "30s"},
		"a negative length":       {header + "1,1,pause,-5s\n", 2, 11, `length "-5s" is negative`, "1m30s"},
		"a pause of no time":      {header + "1,1,pause,0\n", 2, 11, "a pause of no time is none", "leave the row out"},
		"a row cut short":         {header + "1,1\n", 2, 4, "row has 2 cells where the header has 4", "complete"},
		"two times":               {"time,seat,kind,Time\n1,1,crash,2\n", 1, 16, `header has two columns for time, "time" and "Time"`, "rename one"},
		"two seats":               {"seat,time,seat,kind\n1,1,2,crash\n", 1, 11, `two columns for seat, "seat" and "seat"`, "rename one"},
		"two kinds":               {"time,seat,kind,KIND\n1,1,crash,pause\n", 1, 16, `two columns for kind`, "rename one"},
		"two lengths":             {"time,seat,kind,length,length\n1,1,pause,1,2\n", 1, 23, `two columns for length`, "rename one"},
		"two starts":              {"Prob Started,nodenum,prob started\n6/21/2005 10:54,1,6/21/2006 10:54\n", 1, 22, `two columns for Prob Started`, "rename one"},
		"two nodes":               {"Prob Started,nodenum,nodenum\n6/21/2005 10:54,1,2\n", 1, 22, `two columns for nodenum`, "rename one"},
		"a bad date":              {"nodenum,Prob Started\n1,21/6/2005 10:54\n", 2, 3, "month/day/year", "6/21/2005 10:54"},
		"no node":                 {"node,Prob Started\n1,6/21/2005 10:54\n", 1, 0, "header has no column nodenum", "it has node, Prob Started"},
		"a node never added":      {"0,add,a\n1,remove,b\n", 2, 10, `"b" is removed and was not added`, "leave it out"},
		"a node added twice":      {"0,add,a\n1,add,a\n", 2, 7, `"a" is added and was not removed`, "leave it out"},
		"neither add nor remove":  {"0,add,a\n1,ad,a\n", 2, 3, `"ad" is neither add nor remove`, "one of them"},
		"a bad millisecond":       {"0s,add,a\n", 1, 1, "is not a number of milliseconds", "35220000"},
		"a series of two":         {`{"metadata": {"gap_seconds": 30}, "data": [0, 2]}`, 1, 47, `"2" is neither 0 nor 1`, "one instance"},
		"a series of text":        {`{"data": ["1"]}`, 1, 11, "is neither 0 nor 1", "one instance"},
		"no gap":                  {"\n" + `{"metadata": {}, "data": [0, 1]}`, 2, 1, "has no metadata.gap_seconds", "seconds between"},
		"a gap of zero":           {`{"metadata": {"gap_seconds": 0}}`, 1, 30, "is not a number of seconds above zero", "seconds between"},
		"no data":                 {`{"metadata": {"gap_seconds": 30}}`, 1, 1, "has no data", "list of 0 and 1"},
		"a series of no end":      {`{"metadata": {"gap_seconds": 30}, "data": [1, 0, `, 1, 50, "ends in the middle", "cut short"},
		"two series":              {`{"metadata": {"gap_seconds": 30}, "data": [1, 0]} {}`, 1, 51, "goes on behind the object", "one object"},
		"a series without a drop": {`{"metadata": {"gap_seconds": 30}, "data": [0, 1]}`, 0, 0, "has no faults", ""},
		"a series of 100 years":   {`{"metadata": {"gap_seconds": 3000000000}, "data": [1, 1, 0]}`, 1, 1, "longer than 100 years", "gap_seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadFaults(fileOf(t, "f", c.text))
			e := requireError(t, err)
			assert.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, "line and column of: %v", e)
			assert.Contains(t, e.Problem, c.problem)
			assert.Contains(t, e.Remedy, c.remedy)
		})
	}
	_, err := ReadFaults(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadFaults(t.TempDir())
	assert.ErrorContains(t, err, "is a directory")
}

func TestDeploysAreReadSortedAndFiltered(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		text, app string
		want      []time.Duration
	}{
		"offsets":                   {"version,time\nv2,1h\nv1,90\n", "", []time.Duration{90 * s, 3600 * s}},
		"dates":                     {"time_utc,version\n2020-11-16T16:11:08Z,v1\n2020-11-16T16:11:38Z,v2\n", "", []time.Duration{0, 30 * s}},
		"two at once are one":       {"timestamp\n2020-11-16 16:11:08\n2020-11-16 16:11:08\n", "", []time.Duration{0}},
		"one app, from its first":   {"time_utc,app\n2020-11-16T16:11:08Z,a\n2020-11-16T16:11:38Z,b\n2020-11-16T16:11:39Z,b\n", "b", []time.Duration{0, s}},
		"offsets stay with the app": {"time,app\n10,a\n20,b\n", "b", []time.Duration{20 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadDeploys(fileOf(t, "d", c.text), c.app)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestBadDeploysAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      ": is empty; check whether this is the history of deploys",
		"time\r1\r":                             ":1:5: lines end in a carriage return alone; write line feeds",
		"when\n1\n":                             ": header has no column time; call the column with the instants time; it has when",
		"version,time_queued,Time_utc\nv,1,2\n": `:1:21: header has two columns for time, "time_queued" and "Time_utc"; rename all but the one that holds the instants`,
		"time,app,app\n1,wob,web\n":             `:1:10: header has two columns for app, "app" and "app"; rename one of the two columns`,
		"[{\"time\": 1}]\n":                     `:1: is JSON, and CSV is read here; write it with a header line, for example by jq -r '.[] | [.KEY] | @csv'`,
		"time\n":                                ": has no deploys; write one row for each below the header",
		"time\n1\nsoon\n":                       `:3:1: time "soon" is not a number of seconds`,
		"time,app\n1,web\n2,mail\n":             `: has no deploy of app "wob"; did you mean web? it has web, mail`,
		"time\n1\n2024-11-15 16:57:5\n":         `:3:1: time "2024-11-15 16:57:5" is not an RFC 3339 instant`,
		"time,x\n1\n":                           ":2:2: row has 1 cells where the header has 2",
	} {
		app := ""
		if strings.Contains(text, "app") {
			app = "wob"
		}
		_, err := ReadDeploys(fileOf(t, "d", text), app)
		assert.ErrorContains(t, err, want)
	}
	_, err := ReadDeploys(fileOf(t, "d", "time\n1\n"), "web")
	assert.ErrorContains(t, err, "header has no column app; drop the filter by app, or call the column app; it has time")
}

func FuzzFaultsAndDeploys(f *testing.F) {
	f.Add("time,seat,kind,length\n90,7,pause,1m30s\n2024-11-15T16:57:50Z,1,crash,\n")
	f.Add("nodenum,Prob Started\n1,6/21/2005 10:54\n,\n")
	f.Add(`{"metadata": {"gap_seconds": 30.5}, "data": [1, 0, 1, 0], "prices": [null, "x"]}`)
	f.Add("0,add,a\n1e3,remove,a\n")
	f.Add("time_utc,app\n2020-11-16T16:11:08Z,a\n")
	path := filepath.Join(f.TempDir(), "f")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		faults, err := ReadFaults(path)
		if err != nil {
			requireError(t, err)
		} else {
			var last time.Duration
			for _, f := range faults.List {
				require.GreaterOrEqual(t, f.At, last)
				require.GreaterOrEqual(t, f.Seat, int32(0))
				require.GreaterOrEqual(t, f.Length, time.Duration(0))
				last = f.At
			}
		}
		for _, app := range []string{"", "a"} {
			deploys, err := ReadDeploys(path, app)
			if err != nil {
				requireError(t, err)
				continue
			}
			for i, at := range deploys {
				require.True(t, at >= 0 && (i == 0 || at > deploys[i-1]))
			}
		}
	})
}

// The numbers are those of the table of quantiles that comes with the traces.
func TestSharedHistoriesAgreeWithTheirTable(t *testing.T) {
	data := realdata.Folder(t, "traces")
	for file, c := range map[string]struct {
		faults int
		days   float64 // to the last one; 0 is not in the table
	}{
		"lanl-failures-1996/LA-UR-05-7318-failure-data-1996-2005.csv.gz": {23739 - 126, 3766}, // 126 name no node
		"spot-preemption-2023/aws-04-19-2023_us-east-1b_intel_64.json":   {66, 0},
		"spot-preemption-2023/aws-04-22-2023_us-east-1c_v100_1.json":     {41, 0},
		"spot-preemption-2023/aws-04-22-2023_us-east-1f_v100_1.json":     {60, 0},
		"spot-preemption-2023/aws-04-22-2023_us-west-2b_v100_1.json":     {44, 0},
		"spot-preemption-2023/aws-04-22-2023_us-west-2c_v100_1.json":     {57, 0},
		"spot-p3-fleet-2021/p3-trace.csv":                                {167, 11.4 / 24},
	} {
		got, err := ReadFaults(filepath.Join(data, file))
		require.NoError(t, err, file)
		assert.Len(t, got.List, c.faults, file)
		if c.days > 0 {
			assert.InEpsilon(t, c.days, got.List[len(got.List)-1].At.Hours()/24, 0.005, file)
		}
	}
	for _, c := range []struct {
		file, app string
		least     int // at the same second some are one
		rows      int
		days      float64
	}{
		{"govuk-deploys-2025/production-12-months.csv.gz", "", 8700, 9170, 364},
		{"govuk-deploys-2025/all-environments-30-days.csv", "", 3000, 3079, 30.4},
		{"govuk-deploys-2025/production-12-months.csv.gz", "whitehall", 300, 1500, 364},
		{"notify-ca-releases/releases.csv", "", 2400, 2464, 2104},
	} {
		got, err := ReadDeploys(filepath.Join(data, c.file), c.app)
		require.NoError(t, err, c.file)
		assert.GreaterOrEqual(t, len(got), c.least, c.file)
		assert.LessOrEqual(t, len(got), c.rows, c.file)
		assert.InEpsilon(t, c.days, got[len(got)-1].Hours()/24, 0.01, c.file)
	}
}
