package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

// Every way to name a resource that AWS CloudFormation has: Ref, Fn::GetAtt and Fn::Sub, short and
// long, and these within other functions.
func TestATemplateNamesItsTaskDefinitionInManyWays(t *testing.T) {
	const template = "Parameters:\n  Count: {Type: Number, Default: 4}\nResources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions:\n      - {Name: w, StopTimeout: 110}\n" +
		"  Svc:\n    Type: AWS::ECS::Service\n    Properties:\n      LaunchType: FARGATE\n      DesiredCount: COUNT\n      TaskDefinition: TASK\n"
	read := func(t *testing.T, task, count string) *Workload {
		t.Helper()
		w, err := Parse("t.yaml", []byte(strings.NewReplacer("TASK", task, "COUNT", count).Replace(template)), "")
		require.NoError(t, err, "the task definition is no workload of its own")
		return w
	}
	for _, written := range []string{
		"!Ref Task", "{Ref: Task}", "!GetAtt Task.TaskDefinitionArn", "!GetAtt [Task, TaskDefinitionArn]",
		"{\"Fn::GetAtt\": [Task, TaskDefinitionArn]}", "{\"Fn::GetAtt\": Task.TaskDefinitionArn}",
		"!Sub \"${Task}\"", "!Sub \"${Task.TaskDefinitionArn}\"", "{\"Fn::Sub\": \"${Task}\"}", "!Sub [\"${T}\", {T: !Ref Task}]",
		"!Join [\"\", [!Ref Task]]", "!If [Own, !Ref Task, !Ref \"AWS::NoValue\"]", "{\"Fn::If\": [Own, {Ref: Task}, {Ref: Count}]}",
	} {
		t.Run(written, func(t *testing.T) {
			w := read(t, written, "!Ref Count")
			assert.Equal(t, model.Fargate, w.Supervisor)
			assert.Equal(t, 110*time.Second, w.Grace)
			assert.Equal(t, 4, w.Replicas)
			assert.Equal(t, []string{"the default of the parameter Count is used"}, w.Notes)
		})
	}
	for _, written := range []string{"!Sub \"${Count}\"", "{\"Fn::Sub\": \"${Count}\"}", "{Ref: Count}"} {
		assert.Equal(t, 4, read(t, "!Ref Task", written).Replicas, written)
	}
}

func TestATaskDefinitionThatOnlyCloudFormationKnowsIsSaidToBeSo(t *testing.T) {
	const tasks = "Resources:\n  A: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: w, StopTimeout: 50}]}}\n  B: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: w, StopTimeout: 60}]}}\n"
	for written, note := range map[string]string{
		"!If [C, !Ref A, !Ref B]": "StopTimeout stands in the task definition, which CloudFormation chooses out of A, B",
		"!Sub \"${!A}\"":          "StopTimeout stands in the task definition, which is not in this file",
		"!ImportValue task":       "StopTimeout stands in the task definition, which is not in this file",
	} {
		w, err := Parse("t.yaml", []byte(tasks+"  S: {Type: AWS::ECS::Service, Properties: {TaskDefinition: "+written+"}}\n"), "S")
		require.NoError(t, err)
		assert.Contains(t, w.Notes, note, written)
	}
}

// A false refusal of the lint's would come of it: the name of a parameter is no duration.
func TestWhatAWorkerIsToldThroughAReferenceIsNotItsName(t *testing.T) {
	for written, told := range map[string]string{"!Ref G": "25s", "!Ref H": "", "!ImportValue h": "", "!GetAtt A.B": "", "{Ref: H}": "", "25s": "25s"} {
		p := one(t, "t.yaml", "Parameters: {G: {Default: 25s}, H: {Type: String}}\nResources:\n  T: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: [{Name: w,\n    Environment: [{Name: QUIESCE_GRACE, Value: "+written+"}]}]}}\n")
		assert.Equal(t, told, p.Told, written)
		assert.Equal(t, 4, p.ToldLine, written)
	}
}
