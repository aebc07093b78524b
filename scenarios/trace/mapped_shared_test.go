package trace

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/realdata"
)

// The numbers are those of the table of quantiles that comes with the traces, which was
// computed by other means. Busiest minutes and rates are of what is read here.
func TestSharedTracesAgreeWithTheirTableOfQuantiles(t *testing.T) {
	data := realdata.Folder(t, "traces")
	for name, c := range map[string]struct {
		file, mapping string
		rows, skipped int
		quantiles     [4]float64 // seconds: p50, p90, p99, max
		perHour       float64
		busy          float64
		minute        int
		kinds         int
	}{
		// The table counts the 37 jobs that were skipped as jobs of zero seconds.
		"GitHub Actions": {"linkerd-ci-2020/jobs.json", "", 9187, 37, [4]float64{314, 679, 2057, 3653}, 12.3, 1.2, 18, 38},
		"the same by a map": {"linkerd-ci-2020/jobs.json", "arrival=Started,end=Completed,kind=Job", 9224, 0,
			[4]float64{312, 678, 2052, 3653}, 12.4, 1.2, 18, 28},
		"Azure Functions": {"azure-functions-2021/sample-199.csv", "", 199, 0, [4]float64{1.63, 238, 358, 405}, 594, 8.83, 42, 31},
		"AWS Lambda": {"aws-lambda-2020/run-2020-04-24.csv", "arrival=client_start_unix_s,duration=client_elapsed_s,kind=is_cold", 10116, 0,
			[4]float64{1.98, 2.02, 2.07, 2.84}, 361, 0.199, 15, 2},
		"image generation": {"alibaba-genai-2026/lora_request_trace.csv.gz", "arrival=gmt_create,duration=exec_time_seconds,kind=predict_type", 26823, 0,
			[4]float64{23, 53, 106, 567}, 48.5, 0.387, 65, 3},
		"pods": {"alibaba-pods-2023/openb_pod_list_default.csv", "arrival=scheduled_time:s,end=deletion_time:s,kind=qos", 7255, 897,
			[4]float64{616, 7764, 114715, 12537496}, 2.02, 16.3, 6, 4},
		"pipeline samples": {"alibaba-genai-2026/pipeline_inference_latency.csv.gz", "arrival=timestamp_s,duration=latency_ms:ms,kind=container", 34421, 0,
			[4]float64{15.1, 26.3, 70.6, 90.7}, 1510, 7.61, 146, 132},
		"Buildkite": {"vllm-ci-queues-2026/jobs_seen_running.csv.gz", "arrival=started_utc,duration=last_seen_run_min:m,kind=queue", 91752, 0,
			[4]float64{642, 2016, 5820, 38238}, 138, 36.8, 253, 42},
	} {
		t.Run(name, func(t *testing.T) {
			var m Map
			if c.mapping != "" {
				var err error
				m, err = ParseMap(c.mapping)
				require.NoError(t, err)
			}
			p, err := m.Profile(t.Context(), filepath.Join(data, c.file))
			require.NoError(t, err)
			assert.Equal(t, c.rows, p.Jobs)
			assert.Equal(t, c.skipped, p.Skipped)
			assert.Len(t, p.Kinds, c.kinds)
			for i, got := range []time.Duration{p.P50, p.P90, p.P99, p.MaxDuration} {
				assert.InEpsilon(t, c.quantiles[i], got.Seconds(), 0.005, "quantile %d: three digits in the table", i)
				if c.quantiles[i] > 500 { // The larger ones are whole there.
					assert.InDelta(t, c.quantiles[i], got.Seconds(), 0.51, "quantile %d", i)
				}
			}
			assert.InEpsilon(t, c.perHour, p.PerHour, 0.006)
			assert.InEpsilon(t, c.busy, p.Busy, 0.02)
			assert.Equal(t, c.minute, p.Busiest.Jobs)
			arrivals, durations := 0, 0
			for _, n := range p.Arrivals.Jobs {
				arrivals += n
			}
			for _, bar := range p.Durations {
				durations += bar.Jobs
			}
			assert.Equal(t, [2]int{c.rows, c.rows}, [2]int{arrivals, durations}, "every job is in both histograms")
		})
	}
}
