package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sharedManifests finds the manifests of real projects, which are kept outside the module: in
// shared/data/manifests beside one of the folders above.
func sharedManifests(t *testing.T) string {
	dir, err := filepath.Abs(".")
	require.NoError(t, err)
	for {
		folder := filepath.Join(dir, "shared", "data", "manifests")
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no folder shared/data/manifests beside the module or above it")
		}
		dir = filepath.Dir(dir)
	}
}

const (
	goTagOnTop = ":1:1: a Helm or Go template tag stands here, so this is a template"
	erbTag     = " an ERB tag stands here, so this is a template"
	values     = "has no kind and no apiVersion, so it is not a manifest; it looks like a values file"
	compose    = "looks like a Docker Compose file"
	systemd    = "looks like a systemd unit"
	supervisor = "looks like a supervisord configuration"
	nomad      = "looks like a Nomad job"
)

// wanted has for every file either the workloads in it, or a part of the refusal.
var wanted = map[string][]string{
	"aibrix-vllm/7b.yaml":                             {"Deployment/deepseek-coder-7b-instruct x8 Recreate +0 -8, grace 5m0s (line 25), ready after 1m30s, preStop vllm-openai exec ?"},
	"cassandra/cassandra-statefulset.yaml":            {"StatefulSet/cassandra x3 RollingUpdate +0 -1, grace 30m0s (line 18), ready after 15s, preStop cassandra exec ?"},
	"cursion-celery/celery-on-demand-deployment.yaml": {"Deployment/celery-on-demand-deployment x1 RollingUpdate +1 -0, grace 5m0s (line 22), ready after 2m0s, preStop celery-on-demand exec ?"},
	"k8s-issue-23515/deployment-prestop-60.yaml":      {"Deployment/testdeployment x3 RollingUpdate +1 -3, grace 30s (line 0), ready after 0s, preStop elasticsearch exec 1m0s"},
	"knative-activator/activator.yaml":                {"Deployment/activator x1 RollingUpdate +1 -0, grace 10m0s (line 126), ready after 0s"},
	"kueue-tas-job/sample-tas-job.yaml": {
		"Job/tas-sample-job x2 Recreate +0 -2, grace 5s (line 28), ready after 0s",
		"Job/implicit-tas-job x3 Recreate +0 -3, grace 5s (line 54), ready after 0s",
	},
	"clowder-lifecycle/01-assert.yaml": {
		"Deployment/lifecycle-processor x1 RollingUpdate +1 -0, grace 8m20s (line 32), ready after 0s, preStop lifecycle-processor httpGet ?",
		"Deployment/lifecycle-processor-no-termination-period x1 RollingUpdate +1 -0, grace 30s (line 52), ready after 0s, preStop lifecycle-processor-no-termination-period httpGet ?",
		"Deployment/lifecycle-processor-only-termination-period x1 RollingUpdate +1 -0, grace 29s (line 66), ready after 0s",
	},
	"contour/contour.yaml": {
		"Job/contour-certgen-v1-33-5 x1 Recreate +0 -1, grace 30s (line 0), ready after 0s",
		"Deployment/contour x2 RollingUpdate +1 -0, grace 30s (line 0), ready after 0s",
		"DaemonSet/envoy x1 RollingUpdate +0 -1, grace 5m0s (line 279), ready after 3s, preStop shutdown-manager exec ?, preStop envoy httpGet ?",
		"Job/contour-certgen-v1-33-5 x1 Recreate +0 -1, grace 30s (line 0), ready after 0s",
		"Deployment/contour x2 RollingUpdate +1 -0, grace 30s (line 0), ready after 0s",
		"DaemonSet/envoy x1 RollingUpdate +0 -1, grace 5m0s (line 571), ready after 3s, preStop shutdown-manager exec ?, preStop envoy httpGet ?",
	},
	"ingress-nginx-kind/deploy.yaml": {
		"Deployment/ingress-nginx-controller x1 RollingUpdate +1 -1, grace 0s (line 511), ready after 10s, preStop controller exec ?",
		"Job/ingress-nginx-admission-create x1 Recreate +0 -1, grace 30s (line 0), ready after 0s",
		"Job/ingress-nginx-admission-patch x1 Recreate +0 -1, grace 30s (line 0), ready after 0s",
	},
	"microservices-demo/kubernetes-manifests.yaml": {
		"Deployment/frontend x1 RollingUpdate +1 -0, grace 30s (line 0), ready after 10s",
		"Deployment/adservice x1 RollingUpdate +1 -0, grace 5s (line 165), ready after 20s",
		"Deployment/currencyservice x1 RollingUpdate +1 -0, grace 5s (line 240), ready after 0s",
		"Deployment/cartservice x1 RollingUpdate +1 -0, grace 5s (line 314), ready after 15s",
		"Deployment/redis-cart x1 RollingUpdate +1 -0, grace 30s (line 0), ready after 0s",
		"Deployment/loadgenerator x1 RollingUpdate +1 -0, grace 5s (line 460), ready after 0s",
		"Deployment/recommendationservice x1 RollingUpdate +1 -0, grace 5s (line 544), ready after 0s",
		"Deployment/checkoutservice x1 RollingUpdate +1 -0, grace 30s (line 0), ready after 0s",
		"Deployment/emailservice x1 RollingUpdate +1 -0, grace 5s (line 703), ready after 0s",
		"Deployment/paymentservice x1 RollingUpdate +1 -0, grace 5s (line 778), ready after 0s",
		"Deployment/shippingservice x1 RollingUpdate +1 -0, grace 30s (line 0), ready after 0s",
		"Deployment/productcatalogservice x1 RollingUpdate +1 -0, grace 5s (line 924), ready after 0s",
	},

	"arc-runnerset/runnerset.envsubst.yaml":      {"holds no workload; found StorageClass (lines 2, 12, 27, 37, 47, 57), RunnerSet (line 67)"},
	"kubevirt-vmi/vmi-ephemeral.yaml":            {":7:14: a Helm or Go template tag stands here"},
	"rubygems-jobs/jobs.yaml.erb":                {":19:97:" + erbTag},
	"rubygems-jobs/web.yaml.erb":                 {":8:3:" + erbTag},
	"airflow-stable/worker-statefulset.yaml":     {goTagOnTop},
	"govuk-app/deployment.yaml":                  {goTagOnTop},
	"govuk-worker/worker-deployment.yaml":        {goTagOnTop},
	"mastodon/deployment-sidekiq.yaml":           {goTagOnTop},
	"notify-ca-celery/deployment.yaml":           {goTagOnTop},
	"posthog/_snippet-web-deployments.tpl":       {goTagOnTop},
	"posthog/events-deployment.yaml":             {goTagOnTop},
	"posthog/temporal-py-worker-deployment.yaml": {goTagOnTop},
	"selenium-node/chrome-deployment.yaml":       {goTagOnTop},
	"temporal/server-deployment.yaml":            {goTagOnTop},
	"windmill/worker-groups.yaml":                {goTagOnTop},
	"mastodon/values.yaml":                       {values},
	"notify-ca-api/values.yaml":                  {values},
	"notify-ca-celery/values.yaml":               {values},
	"windmill/values.yaml":                       {values},

	"eth-docker-reth/reth.yml":                               {compose},
	"mailcow/docker-compose.yml":                             {compose},
	"sentry-self-hosted/docker-compose.yml":                  {compose},
	"umbrel-bitcoin/docker-compose.yml":                      {compose},
	"umbrel-cloudflared/docker-compose.yml":                  {compose},
	"umbrel-dcrdex/docker-compose.yml":                       {compose},
	"buildkite-agent/buildkite-agent.service":                {systemd},
	"chatwoot-worker/chatwoot-worker.1.service":              {systemd},
	"debian-ceph-volume/ceph-volume@.service":                {systemd},
	"debian-mariadb/mariadb.service":                         {systemd},
	"debian-nginx/nginx.service":                             {systemd},
	"debian-postgresql/postgresql@.service":                  {systemd},
	"debian-redis/redis-server.service":                      {systemd},
	"debian-unattended-upgrades/unattended-upgrades.service": {systemd},
	"debian-uwsgi/uwsgi-emperor.service":                     {systemd},
	"mastodon-sidekiq/mastodon-sidekiq.service":              {systemd},
	"supervisord-celery/celeryd.conf":                        {supervisor},
	"supervisord-huginn/foreman.conf":                        {supervisor},
	"supervisord-redash/worker.conf":                         {supervisor},
	"nomad-github-runner/nomad.job":                          {nomad},
	"nomad-nomadic/nomadic_application_example.hcl":          {nomad},
	"nomad-tfc-agent/tfc_agent.nomad.tpl":                    {nomad},
	"ecs-ecspresso/ecs-service-def.json":                     {"looks like an ECS service definition"},
	"ecs-isptoolbox-celery/celery_app.json.tpl":              {"looks like a list of ECS container definitions"},
	"ecs-pycon-worker/worker.tf":                             {"looks like a Terraform (HCL) file"},
	"fly-supavisor/fly.toml":                                 {"looks like a fly.toml"},
	"procfile-tamato/Procfile":                               {"looks like a Procfile"},
	"render-celery/render.yaml":                              {"looks like a Render blueprint"},
}

func summary(w Workload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s x%d %s +%d -%d, grace %s (line %d), ready after %s", w.Kind, w.Name, w.Replicas,
		w.Strategy.Type, w.Surge(), w.Unavailable(), w.Grace, w.GraceLine, w.ReadinessDelay)
	for _, hook := range w.PreStop {
		length := "?"
		if hook.Known {
			length = hook.Duration.String()
		}
		fmt.Fprintf(&b, ", preStop %s %s %s", hook.Container, hook.Kind, length)
	}
	return b.String()
}

func TestManifestsOfRealProjectsAreReadOrRefusedWithAReason(t *testing.T) {
	folder := sharedManifests(t)
	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, path := range files {
		name := filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator)))
		found[name] = true
		t.Run(name, func(t *testing.T) {
			require.Contains(t, wanted, name, "a file nobody has looked at")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			all, err := List(name, data)
			if err != nil {
				var e *Error
				require.ErrorAs(t, err, &e)
				require.ErrorContains(t, err, wanted[name][0])
				return
			}
			var got []string
			for _, w := range all {
				got = append(got, summary(w))
			}
			assert.Equal(t, wanted[name], got)
		})
	}
	for name := range wanted {
		assert.True(t, found[name], "%s is gone", name)
	}
}

func TestNamesakesInARealManifestNeedTheirNamespace(t *testing.T) {
	path := filepath.Join(sharedManifests(t), "contour", "contour.yaml")
	_, err := Load(path, "deployment/contour")
	require.ErrorContains(t, err, "--select contour-external/deployment/contour")
	w, err := Load(path, "contour-internal/deployment/contour")
	require.NoError(t, err)
	assert.Equal(t, 334, w.Line)
}
