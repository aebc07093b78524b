package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A log router may stand first, and a task is essential to ECS unless it says otherwise; a worker
// of quiesce is known by what it is told, also where that is a secret's.
func TestTheContainerThatIsToldItsGraceIsTheWorkerOfATask(t *testing.T) {
	const told = `{"name": "w", "essential": false, "stopTimeout": 90, "environment": [{"name": "QUIESCE_GRACE", "value": "80s"}]}`
	const secret = `{"name": "w", "stopTimeout": 90, "secrets": [{"name": "QUIESCE_GRACE", "valueFrom": "arn:x"}]}`
	const router = `{"name": "log", "stopTimeout": 5}`
	const hcl = `{ name = "log", stopTimeout = 5 }, { name = "w", stopTimeout = 90, `
	for name, c := range map[string]struct{ file, text string }{
		"task definition":           {"t.json", `{"family": "w", "containerDefinitions": [` + router + `, ` + told + `]}`},
		"task definition, a secret": {"t.json", `{"family": "w", "containerDefinitions": [` + router + `, ` + secret + `]}`},
		"a list of containers":      {"t.json", `[{"image": "x", "name": "log", "stopTimeout": 5}, ` + told + `]`},
		"CloudFormation":            {"t.yaml", "Resources:\n  T: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: log, StopTimeout: 5}, {Name: w, StopTimeout: 90, Environment: [{Name: QUIESCE_GRACE, Value: 80s}]}]}}\n"},
		"CloudFormation, a secret":  {"t.yaml", "Resources:\n  T: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: log, StopTimeout: 5}, {Name: w, StopTimeout: 90, Secrets: [{Name: QUIESCE_GRACE, ValueFrom: !Ref S}]}]}}\n"},
		"Terraform":                 {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([" + hcl + `environment = [{ name = "QUIESCE_GRACE", value = "80s" }] }` + "])\n}\n"},
		"Terraform, a secret":       {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([" + hcl + `secrets = [{ name = "QUIESCE_GRACE", valueFrom = var.arn }] }` + "])\n}\n"},
		"Terraform, JSON in a file": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = <<E\n[" + router + ", " + told + "]\nE\n}\n"},
		"Terraform, a variable's":   {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([" + hcl + `environment = [{ name = "QUIESCE_GRACE", value = var.g }] }` + "])\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse(c.file, []byte(c.text), "")
			require.NoError(t, err)
			assert.Equal(t, 90*time.Second, w.Grace)
			assert.Contains(t, w.Notes, "container w is taken for the worker, the first of 2 that sets QUIESCE_GRACE")
		})
	}
	w, err := Parse("t.json", []byte(`{"family": "w", "containerDefinitions": [`+router+`, {"name": "w"}]}`), "")
	require.NoError(t, err)
	assert.Contains(t, w.Notes, "container log is taken for the worker, the first essential one of 2")
}

func TestAContainerThatRoutesLogsIsNotTheWorker(t *testing.T) {
	for file, text := range map[string]string{
		"t.json": `{"family": "w", "containerDefinitions": [{"name": "log", "firelensConfiguration": {"type": "fluentbit"}}, {"name": "w"}]}`,
		"w.tf":   "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"log\", firelensConfiguration = { type = \"fluentbit\" } }, { name = \"w\" }])\n}\n",
	} {
		w, err := Parse(file, []byte(text), "")
		require.NoError(t, err)
		assert.Contains(t, w.Notes, "container w is taken for the worker, the first essential one of 2", file)
	}
}
