package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inBothForms reads a job with one task, in HCL and in the API's JSON, of which the beginning is given up
// to the task.
func inBothForms(t *testing.T, hcl, json string) (read []*Workload) {
	for file, text := range map[string]string{
		"w.nomad":  "job \"j\" {\n" + hcl + "    task \"w\" { kill_timeout = \"9s\" }\n  }\n}\n",
		"job.json": "{\"Job\": {" + json + "\"Tasks\": [{\"Name\": \"w\", \"KillTimeout\": 9000000000}]}]}}",
	} {
		w, err := Parse(file, []byte(text), "")
		require.NoError(t, err, file)
		read = append(read, w)
	}
	return read
}

// "This defaults to the min value specified in the scaling block, if present; otherwise, this
// defaults to 1" (Nomad, "group Block", count).
func TestCountIsTheLeastOfScalingUnlessItIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		hcl, json string
		want      int
		notes     []string
	}{
		"scaling alone": {"scaling {\n      min = 4\n      max = 9\n    }\n", "\"Scaling\": {\n\n\"Min\": 4, \"Max\": 9},", 4, []string{"count is not set; scaling on line 4 keeps at least 4, which is simulated"}},
		"a count too":   {"count = 6\n    scaling { min = 4 }\n", `"Count": 6, "Scaling": {"Min": 4},`, 6, nil},
		"no count":      {"count = null\n    scaling { min = 0 }\n", "\"Count\": null,\n\n\"Scaling\": {\"Min\": 0},", 0, []string{"count is not set; scaling on line 4 keeps at least 0, which is simulated"}},
		"no least":      {"scaling { max = 9 }\n", `"Scaling": {"Min": null, "Max": 9},`, 1, []string{"count is not set; 1 assumed"}},
		"no scaling":    {"\n", "", 1, []string{"count is not set; 1 assumed"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range inBothForms(t, "  group \"g\" {\n    "+c.hcl, "\"TaskGroups\": [{\"Name\": \"g\",\n"+c.json+"\n") {
				assert.Equal(t, c.want, w.Replicas, w.File)
				assert.Equal(t, c.notes, w.Notes, w.File)
			}
		})
	}
}

// What the group says of canaries goes before what the job says.
func TestCanariesAreNotedInBothForms(t *testing.T) {
	for name, c := range map[string]struct {
		hcl, json string // of the job and of the group
		notes     []string
	}{
		"of the group":             {"group \"g\" {\n    count = 1\n    update { canary = 2 }", "\"TaskGroups\": [{\"Count\": 1,\n\"Update\": {\"Canary\": 2},", []string{"the canaries of line 4 are not simulated"}},
		"of the job":               {"\n  update { canary = 2 }\n  group \"g\" {\n    count = 1", "\"Update\": {\"Canary\": 2}, \"TaskGroups\": [{\"Count\": 1,", []string{"the canaries of line 3 are not simulated"}},
		"none":                     {"group \"g\" {\n    count = 1\n    update { canary = 0 }", "\"TaskGroups\": [{\"Count\": 1, \"Update\": {\"Canary\": 0},", nil},
		"of the job, not of group": {"update { canary = 2 }\n  group \"g\" {\n    count = 1\n    update { canary = 0 }", "\"Update\": {\"Canary\": 2}, \"TaskGroups\": [{\"Count\": 1, \"Update\": {\"Canary\": 0},", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range inBothForms(t, "  "+c.hcl+"\n", "\n\n"+c.json+" \"Name\": \"g\", ") {
				assert.Equal(t, c.notes, w.Notes, w.File)
			}
		})
	}
	w, err := Parse("w.nomad", []byte("job \"j\" {\n  update { canary = var.c }\n  group \"g\" {\n    count = 1\n    task \"w\" { kill_timeout = \"9s\" }\n  }\n}\n"), "")
	require.NoError(t, err, "a number that is worked out is no reason to refuse")
	assert.Equal(t, []string{"the canaries of line 2 are not simulated"}, w.Notes)
}
