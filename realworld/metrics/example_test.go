package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/push"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/internal/shelf"
	"github.com/quiesce/quiesce/realworld/metrics"
)

// A worker that has drained exits before it is scraped. What it counted last survives in a
// Pushgateway: everything is counted before the exit hooks run.
func ExampleMetrics_push() {
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
	}))
	defer gateway.Close()

	reg := prometheus.NewRegistry()
	m := metrics.New(metrics.Options{})
	reg.MustRegister(m)
	pusher := push.New(gateway.URL, "render").Gatherer(reg).Grouping("seat", "web-1")
	last := func(ctx context.Context) {
		families, _ := reg.Gather()
		for _, f := range families {
			if f.GetName() == "quiesce_exits_total" {
				fmt.Println("exits with status", f.GetMetric()[0].GetLabel()[0].GetValue(), "so far:", f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		if err := pusher.PushContext(ctx); err != nil {
			fmt.Println("the last metrics were not pushed:", err)
		}
	}

	mux := worker.NewMux()
	mux.Handle(shelf.Kind, nothing)
	broker := shelf.New(10, nil)
	w, err := worker.New(broker, mux, worker.Options{
		Seat: "web-1", Grace: 30 * time.Second,
		Observers: []worker.Observer{m.Observer()}, OnExit: []func(context.Context){last},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		<-broker.Settled()
		stop()
	}()
	fmt.Println(w.Run(ctx, nil))
	// Output:
	// exits with status 0 so far: 1
	// PUT /metrics/job/render/seat/web-1
	// <nil>
}
