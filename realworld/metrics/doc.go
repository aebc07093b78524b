// Package metrics counts what workers do, for Prometheus.
//
//	m := metrics.New(metrics.Options{})
//	prometheus.MustRegister(m)
//	w, err := worker.New(broker, mux, worker.Options{Grace: grace, Observers: []worker.Observer{m.Observer()}})
//
// It looks on through the worker's observer port, so it sees what the machine was told and
// asked for, and nothing that a job carries. No label has a job's key or token: the number of
// series depends on the kinds of jobs and on nothing else. docs/metrics.md lists the metrics
// and says what is left of them when a worker exits before it is scraped; alerts.yaml and
// dashboard.json beside this file are rules and a Grafana dashboard made of them.
package metrics
