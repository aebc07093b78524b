package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The recipes of docs/sweeps.md are carried out as far as one machine can: each index takes
// its command line, and what they leave behind is merged.
func TestRecipes(t *testing.T) {
	text, err := os.ReadFile("../../docs/sweeps.md")
	require.NoError(t, err)
	scenario := small(t)
	whole := succeed(t, "compare", scenario, "--seeds", "4")
	for _, c := range []struct{ name, variable, command string }{
		{"Slurm", `"$SLURM_ARRAY_TASK_ID/8"`, slurmCommand(t, string(text))},
		{"Kubernetes", "$(INDEX)/8", jobCommand(t, string(text))},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.Contains(t, c.command, c.variable)
			command := regexp.MustCompile(`\S+fleet.yaml|fleet.yaml`).ReplaceAllString(c.command, scenario)
			command = regexp.MustCompile(`--out \S+`).ReplaceAllString(command, "--out "+dir)
			command = strings.Replace(command, "--seeds 400", "--seeds 4", 1)
			var files []string
			for i := range 8 {
				succeed(t, strings.Fields(strings.Replace(command, c.variable, fmt.Sprintf("%d/8", i), 1))...)
				files = append(files, filepath.Join(dir, fmt.Sprintf("shard-%d-of-8.json", i)))
			}
			assert.Equal(t, whole, succeed(t, append([]string{"merge"}, files...)...))
		})
	}
}

func slurmCommand(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^#SBATCH --array=0-7\n(?:#SBATCH .*\n)*exec simulate (.*)$`).FindStringSubmatch(text)
	require.NotNil(t, m, "the script for Slurm has eight tasks and ends in its command")
	return m[1]
}

func jobCommand(t *testing.T, text string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Spec       struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Args         []string
						VolumeMounts []struct{ Name string } `yaml:"volumeMounts"`
					}
					Volumes []struct{ Name string }
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &job))
	pod := job.Spec.Template.Spec
	assert.Equal(t, "batch/v1", job.APIVersion)
	assert.Equal(t, "Indexed", job.Spec.CompletionMode)
	assert.Equal(t, "Never", pod.RestartPolicy)
	assert.Equal(t, 8, job.Spec.Completions)
	require.Len(t, pod.Containers, 1)
	for _, m := range pod.Containers[0].VolumeMounts {
		assert.Contains(t, pod.Volumes, m)
	}
	return strings.Join(pod.Containers[0].Args, " ")
}
