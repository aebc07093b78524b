package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

const (
	tfVariables = "variable \"launch\" { default = \"FARGATE\" }\nvariable \"on\" { default = [\"EC2\", \"FARGATE\"] }\nlocals {\n  launch = var.launch\n  spot = \"${var.launch}_SPOT\"\n  task = aws_ecs_task_definition.t.arn\n  revision = \"${local.task}\"\n}\n"
	tfTask      = "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = 600 }])\n"
	tfService   = "}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = aws_ecs_task_definition.t.arn\n"
)

// Fargate cuts a stopTimeout above two minutes, so where a service runs must not go by unseen.
func TestFargateIsSeenThroughVariablesAndLocals(t *testing.T) {
	for name, c := range map[string]struct{ task, service string }{
		"launch_type":                         {"", "launch_type = var.launch"},
		"launch_type, through a local":        {"", "launch_type = local.launch"},
		"launch_type in a string":             {"", "launch_type = \"${local.launch}\""},
		"requires_compatibilities":            {"requires_compatibilities = [var.launch]\n", ""},
		"requires_compatibilities as a whole": {"requires_compatibilities = var.on\n", ""},
		"the capacity provider":               {"", "capacity_provider_strategy {\n capacity_provider = local.spot\n}"},
		"known, beside what is not":           {"requires_compatibilities = var.elsewhere\n", "launch_type = var.launch"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse("w.tf", []byte(tfVariables+tfTask+c.task+tfService+c.service+"\n}\n"), "")
			require.NoError(t, err)
			assert.Equal(t, model.Fargate, w.Supervisor)
			assert.Contains(t, w.Notes, "stopTimeout 10m0s is above the limit of Fargate, 2m0s, which is simulated")
			for _, note := range w.Notes {
				assert.NotContains(t, note, "is an expression")
			}
		})
	}
	for name, c := range map[string]struct{ task, service, note string }{
		"launch_type":              {"", "launch_type = var.elsewhere", "launch_type is an expression, var.elsewhere; it is taken for another than Fargate"},
		"requires_compatibilities": {"requires_compatibilities = tolist(var.elsewhere)\n", "", "requires_compatibilities is an expression, tolist(…); it is taken for another than Fargate"},
		"the capacity provider":    {"", "capacity_provider_strategy {\n capacity_provider = var.elsewhere\n}", "capacity_provider is an expression, var.elsewhere; it is taken for another than Fargate"},
	} {
		w, err := Parse("w.tf", []byte(tfTask+c.task+tfService+c.service+"\n}\n"), "")
		require.NoError(t, err, name)
		assert.Equal(t, model.ECS, w.Supervisor, name)
		assert.Contains(t, w.Notes, c.note, name)
	}
	w, err := Parse("w.tf", []byte(tfTask+tfService+"capacity_provider_strategy {\n capacity_provider = aws_ecs_capacity_provider.own.name\n}\n}\n"), "")
	require.NoError(t, err)
	assert.NotContains(t, w.Notes, "capacity_provider is an expression, aws_ecs_capacity_provider.own.name; it is taken for another than Fargate", "one of one's own has machines of one's own")
}

func TestContainersOfTerraformAreReadThroughVariablesAndLocals(t *testing.T) {
	const variables = "variable \"t\" { default = 50 }\nvariable \"g\" { default = \"45s\" }\nvariable \"no\" { default = false }\nlocals {\n  env = [{ name = \"QUIESCE_GRACE\", value = var.g }]\n  words = [\"sh\", \"-c\", \"a; b\"]\n  log = { name = \"log\", essential = var.no }\n  all = [local.log, { name = \"w\", stopTimeout = var.t, environment = local.env, command = local.words }]\n  json = jsonencode(local.all)\n" +
		"  text = <<E\n[{\"name\": \"log\", \"essential\": ${var.no}}, {\"name\": \"w\", \"stopTimeout\": ${var.t}, \"command\": [\"sh\", \"-c\", \"a; b\"], \"environment\": [{\"name\": \"QUIESCE_GRACE\", \"value\": \"${var.g}\"}]}]\nE\n}\n"
	for _, containers := range []string{"local.json", "jsonencode(local.all)", "local.text",
		"jsonencode([local.log, { name = \"w\", stopTimeout = var.t, environment = [{ name = \"QUIESCE_GRACE\", value = \"${var.g}\" }], command = local.words }])"} {
		t.Run(containers, func(t *testing.T) {
			w, err := Parse("w.tf", []byte(variables+"resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = "+containers+"\n}\n"), "")
			require.NoError(t, err)
			assert.Equal(t, []string{"log", "w"}, w.Containers)
			assert.Equal(t, 50*time.Second, w.Grace)
			assert.Contains(t, w.Notes, "stopTimeout is var.t, whose default is used")
			assert.Equal(t, "45s", w.Processes[1].Told)
			assert.Equal(t, []string{"sh", "-c", "a; b"}, w.Processes[1].Command)
		})
	}
	p := one(t, "w.nomad", "variable \"g\" { default = \"25s\" }\njob \"j\" {\n  group \"g\" {\n    task \"w\" {\n      env {\n        QUIESCE_GRACE = var.g\n      }\n    }\n  }\n}\n")
	assert.Equal(t, "25s", p.Told, "of Nomad, too")
}

func TestAServiceOfTerraformFindsItsTaskDefinition(t *testing.T) {
	const data = "data \"aws_ecs_task_definition\" \"d\" {\n  task_definition = aws_ecs_task_definition.t.family\n}\n"
	for _, written := range []string{"local.task", "local.revision", "coalesce(local.task, var.x)", "data.aws_ecs_task_definition.d.arn", "\"${aws_ecs_task_definition.t.family}:${data.aws_ecs_task_definition.d.revision}\""} {
		w, err := Parse("w.tf", []byte(data+tfVariables+tfTask+"}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = "+written+"\n}\n"), "")
		require.NoError(t, err, written)
		assert.Equal(t, "service/w", w.ID(), written)
		assert.Equal(t, 10*time.Minute, w.Grace, written)
	}
	assertRefused(t, "w.tf", "resource \"aws_ecs_task_definition\" \"u\" {}\n"+tfTask+"}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = var.u ? aws_ecs_task_definition.u.arn : aws_ecs_task_definition.t.arn\n}\n", 0, 0,
		"holds 3 workloads: service/w (line 5), task/u (line 1), task/t (line 2); choose one: --select service/w")
	_, err := Parse("w.tf", []byte("resource \"aws_ecs_task_definition\" \"u\" {}\n"+tfTask+"}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = var.u ? aws_ecs_task_definition.u.arn : aws_ecs_task_definition.t.arn\n}\n"), "service/w")
	require.ErrorContains(t, err, "w.tf:6:21: task_definition is one of u, t, which only Terraform knows; name what it has deployed")
	circle := "locals {\n  a = local.b\n  b = local.a\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = local.a\n}\n"
	assertRefused(t, "w.tf", circle, 6, 21, "task_definition is not in this file, and with it stopTimeout; name a file that has both resources")
}
