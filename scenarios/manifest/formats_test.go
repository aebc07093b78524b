package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model"
)

// Every sentence is one of the documentation of the format, or of what people write in it.
func TestOtherFormatsAreReadAsTheirDocumentationSays(t *testing.T) {
	type want struct {
		supervisor model.SupervisorKind
		name       string
		replicas   int
		grace      time.Duration
		line       int
		signal     string
		wait       time.Duration
		rollout    string // type, surge, unavailable
	}
	for sentence, c := range map[string]struct {
		file, text, selector string
		want
	}{
		"Compose: stop_grace_period and stop_signal": {"compose.yaml", "services:\n  worker:\n    image: x\n    stop_grace_period: 1m30s\n    stop_signal: SIGINT\n", "",
			want{model.Docker, "worker", 1, 90 * time.Second, 4, "SIGINT", 0, "Recreate +0 -1"}},
		"Compose: without stop_grace_period it is 10 seconds": {"compose.yaml", "services: {worker: {image: x}}\n", "",
			want{model.Docker, "worker", 1, 10 * time.Second, 0, "", 0, "Recreate +0 -1"}},
		"Compose: days and weeks": {"compose.yaml", "services:\n  worker: {image: x, stop_grace_period: 1w2d3h}\n", "",
			want{model.Docker, "worker", 1, (9*24 + 3) * time.Hour, 2, "", 0, "Recreate +0 -1"}},
		"Compose: what is merged into a service counts": {"compose.yaml", "x-w: &w {stop_grace_period: 40s, stop_signal: USR1}\nservices:\n  a: {<<: *w, image: x}\n  b: {image: y}\n", "service/a",
			want{model.Docker, "a", 1, 40 * time.Second, 1, "SIGUSR1", 0, "Recreate +0 -1"}},
		"Compose: update_config replaces parallelism containers at a time, the old ones first": {"compose.yaml", "services:\n  w:\n    image: x\n    deploy: {replicas: 6, update_config: {parallelism: 2}}\n", "",
			want{model.Docker, "w", 6, 10 * time.Second, 0, "", 0, "RollingUpdate +0 -2"}},
		"Compose: start-first starts the new ones first": {"compose.yaml", "services:\n  w:\n    image: x\n    deploy: {replicas: 6, update_config: {order: start-first}}\n", "",
			want{model.Docker, "w", 6, 10 * time.Second, 0, "", 0, "RollingUpdate +1 -0"}},
		"Compose: numbers in quotes, as variables leave them": {"compose.yaml", "services:\n  w:\n    image: x\n    deploy: {replicas: \"6\", update_config: {parallelism: '2'}}\n", "",
			want{model.Docker, "w", 6, 10 * time.Second, 0, "", 0, "RollingUpdate +0 -2"}},
		"Compose: parallelism 0 updates all containers at once": {"compose.yaml", "services:\n  w:\n    image: x\n    deploy: {replicas: 6, update_config: {parallelism: 0}}\n", "",
			want{model.Docker, "w", 6, 10 * time.Second, 0, "", 0, "RollingUpdate +0 -6"}},

		"systemd: without a timeout it is 90 seconds": {"w.service", "[Service]\nExecStart=/w\n", "",
			want{model.Systemd, "w", 1, 90 * time.Second, 0, "", 0, "Recreate +0 -1"}},
		"systemd: TimeoutStopSec takes a time span": {"w.service", "[Service]\nTimeoutStopSec=2min 20s\nKillSignal=SIGQUIT\n", "",
			want{model.Systemd, "w", 1, 140 * time.Second, 2, "SIGQUIT", 0, "Recreate +0 -1"}},
		"systemd: TimeoutSec sets both, and the later setting counts": {"w.service", "[Service]\nTimeoutStopSec=20\nTimeoutSec=15\n", "",
			want{model.Systemd, "w", 1, 15 * time.Second, 3, "", 0, "Recreate +0 -1"}},
		"systemd: 0 switches the timeout off": {"w.service", "[Service]\nTimeoutStopSec=0\n", "",
			want{model.Systemd, "w", 1, Forever, 2, "", 0, "Recreate +0 -1"}},
		"systemd: so does infinity": {"w.service", "[Service]\nTimeoutStopSec=infinity\n", "",
			want{model.Systemd, "w", 1, Forever, 2, "", 0, "Recreate +0 -1"}},
		"systemd: an empty time or signal changes nothing": {"w.service", "[Service]\nTimeoutStopSec=5\nTimeoutStopSec=\nKillSignal=SIGINT\nKillSignal=\nRestartKillSignal=SIGUSR2\nRestartKillSignal=\n", "",
			want{model.Systemd, "w", 1, 5 * time.Second, 2, "SIGUSR2", 0, "Recreate +0 -1"}},
		"systemd: SendSIGKILL=no leaves what does not stop": {"w.service", "[Service]\nTimeoutStopSec=5\nSendSIGKILL=no\n", "",
			want{model.Systemd, "w", 1, Forever, 3, "", 0, "Recreate +0 -1"}},
		"systemd: of a shell's ExecStop the sleep is known": {"w.service", "[Service]\nExecStop=/bin/sh -c 'sleep 10; kill $MAINPID'\n", "",
			want{model.Systemd, "w", 1, 90 * time.Second, 0, "", 10 * time.Second, "Recreate +0 -1"}},
		"systemd: SendSIGKILL=f is no": {"w.service", "[Service]\nSendSIGKILL=f\n", "",
			want{model.Systemd, "w", 1, Forever, 2, "", 0, "Recreate +0 -1"}},
		"systemd: ExecStop runs first": {"w.service", "[Service]\nExecStop=-/bin/sleep 7\n", "",
			want{model.Systemd, "w", 1, 90 * time.Second, 0, "", 7 * time.Second, "Recreate +0 -1"}},
		"systemd: a restart sends RestartKillSignal": {"w.service", "[Service]\nRestartKillSignal=SIGUSR2\nKillSignal=SIGINT\n", "",
			want{model.Systemd, "w", 1, 90 * time.Second, 0, "SIGUSR2", 0, "Recreate +0 -1"}},
		"systemd: a backslash goes on in the next line, and other sections do not count": {"w.service", "[Unit]\nTimeoutStopSec=1\n[Service]\nExecStart=/w \\\n# no\n  TimeoutStopSec=2\nTimeoutStopSec=3\n", "",
			want{model.Systemd, "w", 1, 3 * time.Second, 7, "", 0, "Recreate +0 -1"}},

		"ECS: stopTimeout of the first essential container": {"task.json", `{"family": "w", "containerDefinitions": [` + "\n" + `{"name": "log", "essential": false, "stopTimeout": 2},` + "\n" + `{"name": "w", "stopTimeout": 45}]}`, "",
			want{model.ECS, "w", 1, 45 * time.Second, 3, "", 0, "RollingUpdate +1 -0"}},
		"ECS: on Fargate the limit is the model's, the manifest is as written": {"task.json", "{\n\t\"family\": \"w\", \"requiresCompatibilities\": [\"FARGATE\"],\n\t\"containerDefinitions\": [{\"name\": \"w\", \"stopTimeout\": 300}]}", "",
			want{model.Fargate, "w", 1, 300 * time.Second, 3, "", 0, "RollingUpdate +1 -0"}},
		"ECS: the maximum is rounded down and the minimum up": {"service.json", `{"serviceName": "w", "desiredCount": 5, "launchType": "FARGATE", "deploymentConfiguration": {"minimumHealthyPercent": 50, "maximumPercent": 150}}`, "",
			want{model.Fargate, "w", 5, 30 * time.Second, 0, "", 0, "RollingUpdate +2 -2"}},
		"ECS: services as described by the command line, on Fargate by their capacity provider": {"services.json", `{"services": [{"serviceName": "a", "deploymentConfiguration": {}}, {"serviceName": "w", "desiredCount": 2, "capacityProviderStrategy": [{"capacityProvider": "FARGATE_SPOT"}], "deploymentConfiguration": {"maximumPercent": 150}}]}`, "w",
			want{model.Fargate, "w", 2, 30 * time.Second, 0, "", 0, "RollingUpdate +1 -0"}},
		"ECS: as described by the command line": {"task.json", `{"taskDefinition": {"family": "w", "containerDefinitions": [{"name": "w"}]}}`, "",
			want{model.ECS, "w", 1, 30 * time.Second, 0, "", 0, "RollingUpdate +1 -0"}},
		"Terraform: a service and its task definition": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{\n    name = \"w\", cpu = local.big ? 2 : 1\n    stopTimeout = 50 }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = aws_ecs_task_definition.t.arn\n  desired_count = 4\n  launch_type = \"FARGATE\"\n  deployment_minimum_healthy_percent = 50\n  deployment_maximum_percent = 100\n}\n", "",
			want{model.Fargate, "w", 4, 50 * time.Second, 4, "", 0, "RollingUpdate +0 -2"}},

		"Terraform: lists and maps that a for makes do no harm elsewhere": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  tags = { for k, v in local.tags : k => v if v != \"\" }\n  container_definitions = jsonencode([{\n    name = \"w\", environment = [for k, v in var.e : { name = k, value = f(v, [1]) }], secrets = [\n      for s in local.s :\n      s\n    ]\n    stopTimeout = 50 }])\n}\n", "",
			want{model.ECS, "t", 1, 50 * time.Second, 8, "", 0, "RollingUpdate +1 -0"}},
		"Terraform: a service that names the newer revision of its task definition": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = 50 }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = \"${aws_ecs_task_definition.t.family}:${max(aws_ecs_task_definition.t.revision, data.aws_ecs_task_definition.deployed.revision)}\"\n  desired_count = 4\n}\n", "",
			want{model.ECS, "w", 4, 50 * time.Second, 2, "", 0, "RollingUpdate +4 -0"}},
		"Terraform: a service that has its task definition through a function": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  count = 1\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = 50 }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = try(aws_ecs_task_definition.t[0].arn, \"\")\n}\n", "",
			want{model.ECS, "w", 1, 50 * time.Second, 3, "", 0, "RollingUpdate +1 -0"}},
		"Terraform: containers as JSON in the file, with variables elsewhere": {"w.tf", "resource \"aws_ecs_task_definition\" \"w\" {\n  requires_compatibilities = [\"FARGATE\"]\n  container_definitions = <<JSON\n[\n  {\"name\": \"w: ${var.env}\", \"cpu\": ${var.cpu},\n   \"stopTimeout\": 50}\n]\nJSON\n}\n", "",
			want{model.Fargate, "w", 1, 50 * time.Second, 6, "", 0, "RollingUpdate +1 -0"}},
		"Terraform: a daemon goes before its successor comes": {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\" }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = aws_ecs_task_definition.t.arn\n  scheduling_strategy = \"DAEMON\"\n}\n", "",
			want{model.ECS, "w", 1, 30 * time.Second, 0, "", 0, "RollingUpdate +0 -1"}},
		"ECS: keys with a capital": {"task.json", "{\"Family\": \"w\", \"RequiresCompatibilities\": [\"FARGATE\"],\n\"ContainerDefinitions\": [{\"Name\": \"log\", \"Essential\": false}, {\"Name\": \"w\", \"StopTimeout\": 90}]}", "",
			want{model.Fargate, "w", 1, 90 * time.Second, 2, "", 0, "RollingUpdate +1 -0"}},
		"ECS: a list of containers with a capital": {"task.json", "[{\"Name\": \"w\", \"Image\": \"x\", \"StopTimeout\": 90}]", "",
			want{model.ECS, "w", 1, 90 * time.Second, 1, "", 0, "RollingUpdate +1 -0"}},
		"ECS: a service with a capital": {"s.json", `{"ServiceName": "w", "DesiredCount": 4, "LaunchType": "FARGATE", "DeploymentConfiguration": {"MinimumHealthyPercent": 50, "MaximumPercent": 100}}`, "",
			want{model.Fargate, "w", 4, 30 * time.Second, 0, "", 0, "RollingUpdate +0 -2"}},
		"CloudFormation: a service, its task definition, and the default of a parameter": {"t.yaml", "AWSTemplateFormatVersion: 2010-09-09\nParameters:\n  Count: {Type: Number, Default: \"4\"}\n  Image: {Type: String}\nResources:\n  Queue: {Type: AWS::SQS::Queue}\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: !Sub \"${AWS::StackName}-w\"\n      RequiresCompatibilities: [FARGATE]\n      ContainerDefinitions:\n      - Name: !Ref AWS::StackName\n        Image: !Ref Image\n        StopTimeout: 90\n  Worker:\n    Type: AWS::ECS::Service\n    Properties:\n      TaskDefinition: !Ref Task\n      DesiredCount: !Ref Count\n      DeploymentConfiguration: {MinimumHealthyPercent: 50, MaximumPercent: 100}\n", "",
			want{model.Fargate, "Worker", 4, 90 * time.Second, 15, "", 0, "RollingUpdate +0 -2"}},
		"CloudFormation: as the CDK writes it": {"t.json", "{\"Resources\": {\"T1\": {\"Type\": \"AWS::ECS::TaskDefinition\", \"Properties\": {\"ContainerDefinitions\": [{\"Name\": \"w\", \"Image\": {\"Fn::Join\": [\"\", [\"a\"]]},\n\"StopTimeout\": 90}]}},\n\"S1\": {\"Type\": \"AWS::ECS::Service\", \"Properties\": {\"TaskDefinition\": {\"Ref\": \"T1\"}, \"LaunchType\": \"FARGATE\"}}}}", "",
			want{model.Fargate, "S1", 1, 90 * time.Second, 2, "", 0, "RollingUpdate +1 -0"}},
		"ECS: a daemon goes before its successor comes": {"s.json", `{"serviceName": "w", "schedulingStrategy": "DAEMON", "desiredCount": 3}`, "",
			want{model.ECS, "w", 3, 30 * time.Second, 0, "", 0, "RollingUpdate +0 -3"}},
		"Fly: kill_timeout as a number of seconds": {"fly.toml", "app = \"w\"\nkill_timeout = 120 # two minutes\nkill_signal = 'SIGTERM'\n", "",
			want{model.Fly, "w", 1, 120 * time.Second, 2, "SIGTERM", 0, "RollingUpdate +0 -1"}},
		"Fly: kill_timeout as a duration, and SIGINT unless it says otherwise": {"fly.toml", "app = \"w\"\nkill_timeout = \"2m\"\n[env]\nX = \"\"\"\nkill_timeout = 1\n\"\"\"\n[deploy]\nstrategy = \"bluegreen\"\n", "",
			want{model.Fly, "w", 1, 2 * time.Minute, 2, "", 0, "RollingUpdate +1 -0"}},
		"Fly: a dotted key stands in its table": {"fly.toml", "app = \"w\"\ndeploy.strategy = \"immediate\"\n", "",
			want{model.Fly, "w", 1, 5 * time.Second, 0, "", 0, "RollingUpdate +0 -1"}},
		"Fly: a grace below a table is not read": {"fly.toml", "app = \"w\"\n[deploy]\nstrategy = \"rolling\"\nkill_timeout = 120\n", "",
			want{model.Fly, "w", 1, 5 * time.Second, 0, "", 0, "RollingUpdate +0 -1"}},
		"Fly: every process group has machines of its own": {"fly.toml", "app = \"w\"\n[processes]\nweb = \"x\"\nworker = \"y\"\n[deploy]\nstrategy = \"immediate\"\n", "process/worker",
			want{model.Fly, "worker", 1, 5 * time.Second, 0, "", 0, "RollingUpdate +0 -1"}},

		"Heroku: a Procfile says nothing about stopping": {"Procfile", "# types\nweb: x\nrelease: y\nworker:  bundle exec sidekiq\n", "worker",
			want{model.Heroku, "worker", 1, 30 * time.Second, 0, "", 0, "RollingUpdate +1 -1"}},

		"Heroku: no blank after the colon": {"Procfile", "worker:bundle exec sidekiq\n", "",
			want{model.Heroku, "worker", 1, 30 * time.Second, 0, "", 0, "RollingUpdate +1 -1"}},
		"Nomad: kill_timeout, kill_signal, and shutdown_delay of group and task": {"w.nomad", "job \"j\" {\n  group \"g\" {\n    count = 4\n    shutdown_delay = \"3s\"\n    update { max_parallel = 2 }\n    task \"w\" {\n      driver = \"exec\"\n      kill_timeout = \"25s\"\n      kill_signal = \"SIGUSR1\"\n      shutdown_delay = \"2s\"\n    }\n  }\n}\n", "",
			want{model.Nomad, "w", 4, 25 * time.Second, 8, "SIGUSR1", 5 * time.Second, "RollingUpdate +0 -2"}},
		"Nomad: what the group says of the update goes before what the job says": {"w.nomad", "job \"j\" {\n  update { max_parallel = 3 }\n  group \"g\" {\n    count = 4\n    update { max_parallel = 0 }\n    task \"w\" { driver = \"docker\" }\n  }\n}\n", "",
			want{model.Nomad, "w", 4, 5 * time.Second, 0, "SIGTERM", 0, "RollingUpdate +0 -4"}},
		"Nomad: a variable has its default": {"w.nomad", "variable \"n\" {\n  default = 7\n}\njob \"j\" {\n  group \"g\" {\n    count = var.n\n    task \"w\" {}\n    task \"before\" {\n      lifecycle { hook = \"prestart\" }\n    }\n  }\n}\n", "",
			want{model.Nomad, "w", 7, 5 * time.Second, 0, "", 0, "RollingUpdate +0 -1"}},
		"Nomad: a local has its value, in steps too": {"w.nomad", "variable \"n\" {\n  default = 20\n}\nlocals {\n  t = \"${var.n}s\"\n  stop = local.t\n}\njob \"j\" {\n  group \"g\" {\n    task \"w\" {\n      kill_timeout = local.stop\n    }\n  }\n}\n", "",
			want{model.Nomad, "w", 1, 20 * time.Second, 11, "", 0, "RollingUpdate +0 -1"}},
		"Terraform: a local and a variable": {"w.tf", "variable \"t\" { default = 50 }\nlocals {\n  n = 4\n}\nresource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = var.t }])\n}\nresource \"aws_ecs_service\" \"w\" {\n  task_definition = aws_ecs_task_definition.t.arn\n  desired_count = local.n\n}\n", "",
			want{model.ECS, "w", 4, 50 * time.Second, 6, "", 0, "RollingUpdate +4 -0"}},
		"Nomad: expressions, heredocs and comments elsewhere do no harm": {"w.nomad", "job \"j\" { # a\n  // b\n  /* c\n  d */\n  group \"g\" {\n    task \"w\" {\n      env {\n        A = \"${x(\"}\")}\"\n        B = [for s in y : s]\n        \"C\" = a.b[0] + -1\n      }\n      template {\n        data = <<-EOH\n  kill_timeout = \"1s\" }\n        EOH\n      }\n      kill_timeout = \"9s\"\n    }\n  }\n}\n", "",
			want{model.Nomad, "w", 1, 9 * time.Second, 17, "", 0, "RollingUpdate +0 -1"}},
		"Nomad: the JSON of the API has nanoseconds": {"job.json", "{\"Job\": {\"ID\": \"j\", \"Update\": {\"MaxParallel\": 2},\n\"TaskGroups\": [{\"Name\": \"g\", \"Count\": 3, \"ShutdownDelay\": null, \"Tasks\": [{\"Name\": \"w\", \"Driver\": \"exec\",\n\"KillTimeout\": 25000000000, \"KillSignal\": \"\", \"ShutdownDelay\": 2000000000}]}]}}\n", "",
			want{model.Nomad, "w", 3, 25 * time.Second, 3, "", 2 * time.Second, "RollingUpdate +0 -2"}},

		"Cloud Run: a service always has ten seconds": {"service.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w}\nspec:\n  template:\n    metadata: {annotations: {autoscaling.knative.dev/minScale: \"3\"}}\n    spec: {timeoutSeconds: 300, containers: [{image: x}]}\n", "",
			want{model.CloudRun, "w", 3, 10 * time.Second, 0, "", 0, "RollingUpdate +3 -0"}},
		"Cloud Run: and so has a worker pool": {"pool.yaml", "apiVersion: run.googleapis.com/v1\nkind: WorkerPool\nmetadata:\n  name: w\n  annotations: {run.googleapis.com/manualInstanceCount: \"5\"}\nspec: {template: {spec: {containers: [{image: x}]}}}\n", "",
			want{model.CloudRun, "w", 5, 10 * time.Second, 0, "", 0, "RollingUpdate +5 -0"}},

		"supervisord: stopwaitsecs and stopsignal": {"supervisord.conf", "[supervisord]\nstopwaitsecs=1\n[program:w]\ncommand=x\n   y ; no\nnumprocs = 4 ; comment\nstopwaitsecs=600\nstopsignal=QUIT\n", "",
			want{model.Supervisord, "w", 4, 600 * time.Second, 7, "SIGQUIT", 0, "Recreate +0 -4"}},
		"supervisord: a section that is written again goes on": {"supervisord.conf", "[program:w]\ncommand=x\n[program:w]\nstopwaitsecs=9\n", "",
			want{model.Supervisord, "w", 1, 9 * time.Second, 4, "", 0, "Recreate +0 -1"}},
		"supervisord: keys in any case, a colon for the sign, comments behind values": {"supervisord.conf", "[program:w]\nCommand: python w.py --a=b # no\nStopWaitSecs: 300\t; five minutes\nnumprocs=3 # comment\n", "",
			want{model.Supervisord, "w", 3, 300 * time.Second, 3, "", 0, "Recreate +0 -3"}},
		"supervisord: what serves FastCGI is a program too": {"supervisord.conf", "[fcgi-program:w]\ncommand=x\nsocket=tcp://localhost:9000\nstopwaitsecs=9\n", "",
			want{model.Supervisord, "w", 1, 9 * time.Second, 4, "", 0, "Recreate +0 -1"}},
		"Render: maxShutdownDelaySeconds": {"render.yaml", "services:\n- {type: redis, name: r}\n- type: worker\n  name: w\n  numInstances: 2\n  maxShutdownDelaySeconds: 120\n", "",
			want{model.Render, "w", 2, 120 * time.Second, 6, "", 0, "RollingUpdate +2 -0"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w, err := Parse(c.file, []byte(c.text), c.selector)
			require.NoError(t, err)
			assert.Equal(t, c.want, want{w.Supervisor, w.Name, w.Replicas, w.Grace, w.GraceLine, w.StopSignal, w.PreStopDuration,
				rolloutText(w)})
			assert.Equal(t, w.GraceLine > 0, w.GraceSet)
		})
	}
}

func rolloutText(w *Workload) string {
	text := summary(*w)
	text = text[strings.Index(text, " x")+2:]
	text = text[strings.Index(text, " ")+1:]
	return text[:strings.Index(text, ",")]
}

func TestNotesOfOtherFormatsTellWhatWillSurprise(t *testing.T) {
	for name, c := range map[string]struct{ file, text, note string }{
		"a Nomad client's limit":     {"w.nomad", "job \"j\" {\n group \"g\" {\n task \"w\" {\n kill_timeout = \"2h\"\n}\n}\n}\n", "kill_timeout 2h0m0s is above the limit of Nomad, 30s, which is simulated"},
		"Fargate's limit":            {"t.json", `{"requiresCompatibilities": ["FARGATE"], "containerDefinitions": [{"name": "w", "stopTimeout": 300}]}`, "stopTimeout 5m0s is above the limit of Fargate, 2m0s, which is simulated"},
		"an unknown length":          {"w.service", "[Service]\nExecStop=/bin/stop it\n", "ExecStop on line 2 runs before the stop signal, for an unknown time; 0s assumed"},
		"a sleep and more":           {"w.service", "[Service]\nExecStop=/bin/sh -c 'sleep 10; kill $MAINPID'\n", "ExecStop on line 2 sleeps 10s and does more; 10s assumed, at least"},
		"a container's own grace":    {"w.service", "[Service]\nExecStart=/usr/bin/docker run --rm x\nExecStop=/usr/bin/docker stop -t 60 x\n", "ExecStart is docker: what runs in its container may be stopped by docker stop, with a grace of its own; that of systemd is simulated"},
		"another last signal":        {"w.service", "[Service]\nFinalKillSignal=SIGQUIT\n", "FinalKillSignal on line 2 is SIGQUIT; SIGKILL is simulated, and a process that catches SIGQUIT lives on"},
		"another way to time out":    {"w.service", "[Service]\nTimeoutStopFailureMode=abort\n", "TimeoutStopFailureMode on line 2 is abort, which is not simulated"},
		"another section's grace":    {"w.service", "[Unit]\nTimeoutStopSec=5\n[Service]\n", "TimeoutStopSec on line 2 stands in [Unit] and is ignored; write it in [Service]"},
		"another table's grace":      {"fly.toml", "app = \"w\"\n[deploy]\nkill_timeout = 120\n", "kill_timeout on line 3 stands in [deploy] and is ignored; write it above the first table"},
		"the environment's grace":    {"fly.toml", "app = \"w\"\n[env]\nkill_timeout = 120\n", "kill_timeout on line 3 stands in [env] and is ignored; write it above the first table"},
		"a process's grace":          {"fly.toml", "app = \"w\"\n[processes]\nworker = \"x\"\nkill_timeout = \"2m\"\n", "kill_timeout on line 4 stands in [processes] and is ignored; write it above the first table"},
		"another table's signal":     {"fly.toml", "app = \"w\"\n[deploy]\nkill_signal = \"SIGTERM\"\n", "kill_signal on line 3 stands in [deploy] and is ignored; write it above the first table"},
		"a service's own defaults":   {"s.json", `{"serviceName": "w", "desiredCount": 4}`, "stopTimeout stands in the task definition, which is another file"},
		"a parameter's default":      {"t.json", `{"Parameters": {"N": {"Default": 4}, "M": {"Default": 5}}, "Resources": {"S": {"Type": "AWS::ECS::Service", "Properties": {"DesiredCount": {"Ref": "N"}, "Cluster": {"Ref": "M"}}}}}`, "the default of the parameter N is used"},
		"a task in another template": {"t.json", `{"Resources": {"S": {"Type": "AWS::ECS::Service", "Properties": {"TaskDefinition": "w:3"}}}}`, "StopTimeout stands in the task definition, which is not in this file"},
		"leftovers":                  {"w.service", "[Service]\nKillMode=mixed\n", "KillMode mixed: the signal goes to the main process; what is left when it exits is killed at once"},
		"a default":                  {"w.service", "[Service]\n", "TimeoutStopSec is not set; 1m30s assumed, the default of systemd"},
		"no SIGKILL":                 {"w.service", "[Service]\nTimeoutStopSec=0\n", "systemd sends no SIGKILL: a stop lasts as long as the worker takes"},
		"SIGKILL as the stop signal": {"compose.yaml", "services: {w: {image: x, stop_signal: SIGKILL}}\n", "the stop signal is SIGKILL: the process is killed at once, with no time to shut down"},
		"a fixed grace":              {"Procfile", "worker: x y\n", "Heroku always allows 30s"},
		"a service that cannot move": {"s.json", `{"desiredCount": 1, "deploymentConfiguration": {"minimumHealthyPercent": 100, "maximumPercent": 100}}`, "minimumHealthyPercent 100 and maximumPercent 100 let no task be replaced; one at a time assumed"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Parse(c.file, []byte(c.text), "")
			require.NoError(t, err)
			assert.Contains(t, w.Notes, c.note)
		})
	}
}

func TestOtherFormatsRefuseWhatTheyCannotKnow(t *testing.T) {
	growing := "locals {\n  a7 = \"1\"\n"
	for i := range 7 {
		growing += fmt.Sprintf("  a%d = \"%s\"\n", i, strings.Repeat(fmt.Sprintf("${local.a%d}", i+1), 12))
	}
	growing += "}\njob \"j\" { group \"g\" { task \"w\" {\n      kill_timeout = local.a0\n} } }\n"
	for name, c := range map[string]struct {
		file, text   string
		line, column int
		message      string
	}{
		"Compose: a number without a unit":           {"compose.yaml", "services:\n  w: {image: x, stop_grace_period: 30}\n", 2, 36, "stop_grace_period 30 has no unit; write 30s"},
		"Compose: a word for a number":               {"compose.yaml", "services:\n  w: {image: x, scale: \"two\"}\n", 2, 24, `scale "two" is not a whole number; write a number such as 30`},
		"Compose: a variable":                        {"compose.yaml", "services:\n  w: {image: x, stop_grace_period: \"${G:-30s}\"}\n", 2, 37, "stop_grace_period holds a variable for envsubst, ${G:-30s}; let Compose fill it in first: docker compose config > rendered.yaml"},
		"Compose: a variable without braces":         {"compose.yaml", "services:\n  w: {image: x, stop_signal: \"$SIG\"}\n", 2, 31, "stop_signal holds a variable for envsubst, $SIG; let Compose fill it in first: docker compose config > rendered.yaml"},
		"Compose: a variable for a number":           {"compose.yaml", "services:\n  w: {image: x, deploy: {replicas: $N}}\n", 2, 36, "replicas holds a variable for envsubst, $N; let Compose fill it in first: docker compose config > rendered.yaml"},
		"Compose: a dollar that is none":             {"compose.yaml", "services:\n  w: {image: x, stop_signal: \"$$SIG\"}\n", 2, 30, `stop_signal "$$SIG" is not a signal; write a name such as SIGTERM`},
		"Compose: settings from elsewhere":           {"compose.yaml", "services:\n  w: {extends: {file: b.yaml, service: x}}\n", 2, 16, "extends takes settings from another service or file; let Compose fill it in first: docker compose config > rendered.yaml"},
		"Compose: a signal that is none":             {"compose.yaml", "services:\n  w: {image: x, stop_signal: \"now!\"}\n", 2, 30, `stop_signal "now!" is not a signal; write a name such as SIGTERM`},
		"Compose: a service twice":                   {"compose.yaml", "services:\n  w: {image: x}\n  w: {image: y}\n", 3, 3, "w is written twice, first on line 2; keep one of them"},
		"Compose: two numbers":                       {"compose.yaml", "services:\n  w: {image: x, scale: 2, deploy: {replicas: 3}}\n", 2, 24, "scale is 2, and deploy.replicas is 3; keep one of them"},
		"systemd: a last signal that is none":        {"w.service", "[Service]\nFinalKillSignal=no\n", 2, 17, `FinalKillSignal "no" is not a signal; write SIGKILL, or SIGQUIT or SIGABRT for a core dump`},
		"CloudFormation":                             {"t.yaml", "AWSTemplateFormatVersion: 2010-09-09\nResources:\n  T: {Type: AWS::SQS::Queue}\n", 0, 0, "looks like a CloudFormation template without AWS::ECS::Service and AWS::ECS::TaskDefinition, the only resources that are read; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"CloudFormation: a grace that is worked out": {"t.yaml", "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions:\n      - {Name: w, StopTimeout: !FindInMap [A, B, C]}\n", 6, 32, "StopTimeout is worked out by CloudFormation, !FindInMap; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"CloudFormation: a number that is imported":  {"t.json", `{"Resources": {"S": {"Type": "AWS::ECS::Service", "Properties": {"DesiredCount": {"Fn::ImportValue": "n"}}}}}`, 1, 82, "DesiredCount is worked out by CloudFormation, Fn::ImportValue n; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"ECS: a key with a capital, misspelt":        {"t.json", "{\"ContainerDefinitions\": [{\"Name\": \"w\",\n\"StopTimout\": 30}]}", 2, 1, "StopTimout is not known; write StopTimeout"},
		"Fly: a table in braces":                     {"fly.toml", "app = \"x\"\ndeploy = { strategy = \"immediate\" }\n", 2, 10, "deploy is a table in braces; write [deploy] and its keys on lines below it"},
		"systemd: a time span that is none":          {"w.service", "[Service]\nTimeoutStopSec=soon\n", 2, 16, `TimeoutStopSec "soon" is not a time span; write one such as 90, 2min 30s or infinity`},
		"systemd: a container of Podman":             {"w.container", "[Unit]\nDescription=x\n[Container]\nImage=x\nStopTimeout=70\n[Service]\nRestart=always\n", 3, 1, "Container makes this a Quadlet, and Podman stops what it starts, not systemd; write supervisor: {kind: docker, grace: 10s} in a scenario, with its StopTimeout for the grace"},
		"systemd: an unknown unit":                   {"w.service", "[Service]\nTimeoutStopSec = 3 parsec\n", 2, 18, `TimeoutStopSec "3 parsec" has the unknown unit "parsec"; write one such as 90, 2min 30s or infinity`},
		"systemd: no signal at all":                  {"w.service", "[Service]\nKillMode=none\n", 2, 10, "KillMode is none: systemd sends no signal at all, the process lives on after a stop, and there is no drain to look at; write KillMode=mixed or control-group"},
		"systemd: a unit without a service":          {"w.service", "[Unit]\nDescription=x\n", 0, 0, "has no [Service] section, so it starts and stops no process; name the .service unit"},
		"systemd: no setting":                        {"w.service", "[Service]\nTimeoutStopSec 30\n", 2, 1, "is neither a section nor key=value; write key=value"},
		"ECS: a time in quotes":                      {"t.json", "[{\"image\": \"x\", \"name\": \"w\",\n\"stopTimeout\": \"30\"}]", 2, 16, `stopTimeout "30" is not a whole number of seconds; write 30 without quotes`},
		"ECS: a template field":                      {"t.json", "[{\"image\": \"x\", \"name\": \"w\",\n\"stopTimeout\": \"${t}\"}]", 2, 17, `stopTimeout holds a variable for envsubst, ${t}; fill it in first, for example: envsubst < task.json.tpl > task.json`},
		"Terraform: a grace that is worked out":      {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = jsonencode([{ name = \"w\", stopTimeout = var.t }])\n}\n", 2, 67, "stopTimeout is an expression, var.t; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Terraform: containers from a file":          {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = templatefile(\"a\", {})\n}\n", 2, 27, "container_definitions is not a plain jsonencode([ … ]); name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Terraform: a variable in the JSON":          {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = <<-JSON\n    [{\"name\": \"w\",\n      \"stopTimeout\": ${var.t}}]\n  JSON\n}\n", 4, 22, "stopTimeout holds a variable for envsubst, ${var.t}; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Terraform: JSON that is made":               {"w.tf", "resource \"aws_ecs_task_definition\" \"t\" {\n  container_definitions = <<-JSON\n    [%{ for x in y }{},%{ endfor }]\n  JSON\n}\n", 2, 27, "container_definitions is not a JSON list of containers as it stands; name what it has deployed: aws ecs describe-task-definition --task-definition NAME > task.json"},
		"Terraform: nothing of ECS":                  {"w.tf", "locals {\n  a = 1\n}\n", 0, 0, "is a Terraform file without aws_ecs_service and aws_ecs_task_definition, the only resources that are read; name the file that has them, or the manifest that they deploy"},
		"Fly: a signal without quotes":               {"fly.toml", "kill_signal = SIGTERM\n", 1, 15, `kill_signal SIGTERM is not a signal; write a name in quotes, such as "SIGTERM"`},
		"Fly: a duration without quotes":             {"fly.toml", "kill_timeout = 5m\n", 1, 16, `kill_timeout 5m is not a number of seconds; write 30, or "30s"`},
		"Fly: a key twice":                           {"fly.toml", "kill_timeout = 5\nkill_timeout = 6\n", 2, 1, "kill_timeout is written twice, first on line 1; keep one of them"},
		"Fly: a list that does not end":              {"fly.toml", "app = \"x\"\nprocesses = [\n  \"a\",\n", 2, 13, "processes does not end; close the bracket or the quotes"},
		"Heroku: a line that is no type":             {"Procfile", "worker: x y\nbundle exec sidekiq\n", 2, 1, "is not a process type; write TYPE: COMMAND, for example worker: bundle exec sidekiq"},
		"Nomad: a grace that is worked out":          {"w.nomad", "job \"j\" {\n  group \"g\" {\n    task \"w\" {\n      kill_timeout = \"${local.t}s\"\n    }\n  }\n}\n", 4, 22, "kill_timeout is an expression, ${local.t}s; let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"},
		"Nomad: locals in a circle":                  {"w.nomad", "locals {\n  a = local.b\n  b = \"${local.a}s\"\n}\njob \"j\" {\n  group \"g\" {\n    task \"w\" {\n      kill_timeout = local.a\n    }\n  }\n}\n", 8, 22, "kill_timeout is an expression, local.a; let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"},
		"Nomad: locals that grow without end":        {"w.nomad", growing, 12, 22, "kill_timeout is an expression, local.a0; let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"},
		"Nomad: blocks that are made":                {"w.nomad", "job \"j\" {\n  group \"g\" {\n    dynamic \"task\" {\n      for_each = [\"a\"]\n      content {}\n    }\n  }\n}\n", 3, 5, "dynamic makes blocks that only Nomad knows; let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"},
		"Nomad: a function":                          {"w.nomad", "job \"j\" {\n  group \"g\" {\n    count = max(1, 2)\n    task \"w\" {}\n  }\n}\n", 3, 13, "count is an expression, max(…); let Nomad work it out and name the result: nomad job run -output job.nomad > job.json"},
		"Nomad: a duration without quotes":           {"w.nomad", "job \"j\" {\n  group \"g\" {\n    task \"w\" {\n      kill_timeout = 25\n    }\n  }\n}\n", 4, 22, "kill_timeout 25 has no unit; write 25s"},
		"Nomad: a block that does not end":           {"w.nomad", "job \"j\" {\n  group \"g\" {\n", 3, 1, "group block of line 2 does not end; close it with }"},
		"Nomad: two values on a line":                {"w.nomad", "job \"j\" {\n  update { max_parallel = 2 stagger = \"30s\" }\n}\n", 2, 29, "is not HCL: \"stagger\" stands where it cannot; end each value with its line, or with a comma in a list"},
		"Nomad: a string that does not end":          {"w.nomad", "job \"j {\n}\n", 1, 5, "is a string that does not end on its line; close it"},
		"Nomad: a pack's template":                   {"w.nomad", "job \"j\" {\n  type = [[ var \"type\" . ]]\n}\n", 2, 10, "a nomad-pack template tag stands here, so this is not a job file yet: [[ var \"type\" . ]]; render it first: nomad-pack render PACK --to-dir rendered"},
		"Nomad: seconds for nanoseconds":             {"j.json", "{\"Job\": {\"TaskGroups\": [{\"Name\": \"g\", \"Tasks\": [{\"Name\": \"w\",\n\"KillTimeout\": 25}]}]}}", 2, 16, "KillTimeout 25 is in nanoseconds, which nothing can keep to; write 25000000000 for 25 seconds"},
		"Cloud Run: a number without digits":         {"s.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: w, annotations: {run.googleapis.com/minScale: many}}\n", 3, 64, `run.googleapis.com/minScale "many" is not a whole number; write a number in quotes, such as "3"`},
		"supervisord: a time that is none":           {"supervisord.conf", "[program:w]\nstopwaitsecs=10s\n", 2, 14, `stopwaitsecs "10s" is not a whole number; write a number such as 10`},
		"supervisord: no program":                    {"supervisord.conf", "[supervisord]\nnodaemon=true\n", 0, 0, "has no [program:x] section; name the file that has it; files of [include] are not followed"},
		"Render: more than it allows":                {"render.yaml", "services:\n- {type: worker, name: w, maxShutdownDelaySeconds: 301}\n", 2, 52, "maxShutdownDelaySeconds is not between 1 and 300; write a number such as 60"},
	} {
		t.Run(name, func(t *testing.T) {
			assertRefused(t, c.file, c.text, c.line, c.column, c.message)
		})
	}
}

// assertRefused parses a file, which must be refused with a message about a place.
func assertRefused(t *testing.T, file, text string, line, column int, says string) {
	t.Helper()
	atLine, atColumn, message := refusalOf(t, file, text, "")
	assert.Equal(t, says, message)
	assert.Equal(t, [2]int{line, column}, [2]int{atLine, atColumn}, "line and column")
}

func TestServicesOfACompositionAreSelectedByName(t *testing.T) {
	text := []byte("services:\n  web: {image: x}\n  worker: {image: x, stop_grace_period: 1m}\n")
	_, err := Parse("compose.yaml", text, "")
	require.ErrorContains(t, err, "holds 2 workloads: service/web (line 2), service/worker (line 3); choose one: --select service/web")
	w, err := Parse("compose.yaml", text, "worker")
	require.NoError(t, err)
	assert.Equal(t, time.Minute, w.Grace)
}

func TestTimeSpansOfSystemd(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "2 h": 2 * time.Hour, "2hours": 2 * time.Hour, "48hr": 48 * time.Hour,
		"1y 12month": (31_557_600 + 12*2_630_016) * time.Second, "55s500ms": 55500 * time.Millisecond, "300ms20s 5day": 5*24*time.Hour + 20300*time.Millisecond,
		"infinity": Forever, "0": 0,
	} {
		d, problem := timeSpan(text)
		assert.Empty(t, problem, text)
		assert.Equal(t, want, d, text)
	}
	for _, text := range []string{"-1", "s", "1 2x", "99999999999999999y", ""} {
		_, problem := timeSpan(text)
		assert.NotEmpty(t, problem, text)
	}
}

func TestAnOverrideThatComposeMergesByItselfIsNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	const note = "compose.override.yaml beside it, which docker compose up merges into it, is not followed; let Compose fill it in first: docker compose config > rendered.yaml"
	main, other := write("compose.yaml", "services: {w: {image: x}}\n"), write("rendered.yaml", "services: {w: {image: x}}\n")
	w, err := Load(main, "")
	require.NoError(t, err)
	assert.NotContains(t, w.Notes, note)

	write("compose.override.yaml", "services: {w: {stop_grace_period: 1m}}\n")
	w, err = Load(main, "")
	require.NoError(t, err)
	assert.Contains(t, w.Notes, note)
	w, err = Load(other, "")
	require.NoError(t, err)
	assert.NotContains(t, w.Notes, note, "Compose merges it into files of its own names")
}

// However it is laid out: AWS, kubectl and Nomad write JSON in four blanks, machines in one line.
func TestAManifestInAFolderIsKnownByItsTopLevelKeys(t *testing.T) {
	for text, looks := range map[string]bool{
		"{\n    \"family\": \"w\",\n    \"containerDefinitions\": []\n}\n":            true,
		`{"apiVersion": "apps/v1", "kind": "Deployment"}`:                             true,
		`[{"ID": "w", "TaskGroups": []}]`:                                             true,
		"\ufeffservices:\n  w: {image: x}\n":                                          true,
		"{apiVersion: apps/v1, kind: Deployment}\n":                                   true,
		"{\n    \"containerDefinitions\": [\n":                                        true, // cut short
		"# a comment\n\n---\nkind: Deployment\n":                                      true,
		"{\n    \"name\": \"site\",\n    \"scripts\": {\"services\": \"serve\"}\n}\n": false,
		"on: push\njobs:\n  build:\n    services:\n      db: {image: x}\n":            false,
		`{"compilerOptions": {"kind": "x"}}`:                                          false,
		"":                                                                            false,
	} {
		assert.Equal(t, looks, Looks("f.yaml", []byte(text)), "%q", text)
		assert.Equal(t, looks, Looks("f.json", []byte(text)), "%q", text)
	}
}

func TestASIGKILLForAStopLeavesNoGrace(t *testing.T) {
	for file, text := range map[string]string{
		"d.yaml":       deployment("      os: {name: linux}\n      terminationGracePeriodSeconds: 45\n      containers: [{name: w, lifecycle: {stopSignal: SIGKILL}}]\n"),
		"compose.yaml": "services: {w: {image: x, stop_signal: SIGKILL, stop_grace_period: 45s}}\n",
		"w.service":    "[Service]\nTimeoutStopSec=45\nKillSignal=SIGKILL\n",
	} {
		w, err := Parse(file, []byte(text), "")
		require.NoError(t, err, file)
		assert.Zero(t, w.Supervision().Allowed(), file)
		assert.Contains(t, w.Notes, "the stop signal is SIGKILL: the process is killed at once, with no time to shut down", file)
	}
}

func TestWhatIsNotSimulatedAsItIsWrittenIsSaid(t *testing.T) {
	for note, c := range map[string]struct{ file, text string }{
		"the stop signal is SIGUSR1: simulated are workers that begin their drain at it, as those of quiesce do at SIGTERM and SIGINT alone": {
			"compose.yaml", "services: {w: {image: x, stop_signal: SIGUSR1}}\n"},
		"min_healthy_time is not simulated: the rollout goes on as soon as a new worker is ready, 30s earlier": {
			"w.nomad", "job \"j\" {\n  group \"g\" {\n    update { min_healthy_time = \"30s\" }\n    task \"w\" {}\n  }\n}\n"},
		"the ExecStop take 2m0s together, as each may take TimeoutStopSec; one TimeoutStopSec is simulated": {
			"w.service", "[Service]\nTimeoutStopSec=90\nExecStop=/bin/sleep 60\nExecStop=/bin/sleep 60\n"},
	} {
		w, err := Parse(c.file, []byte(c.text), "")
		require.NoError(t, err)
		assert.Contains(t, w.Notes, note)
	}
}
