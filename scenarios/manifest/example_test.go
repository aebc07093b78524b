package manifest_test

import (
	"fmt"

	"github.com/quiesce/quiesce/scenarios/manifest"
)

func Example() {
	w, err := manifest.Load("testdata/deployment.yaml", "deployment/mailer")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s/%s runs %d replicas\n", w.Kind, w.Name, w.Replicas)
	fmt.Printf("grace %s, set on line %d; preStop takes %s of it\n", w.Grace, w.GraceLine, w.PreStopDuration)
	fmt.Printf("a rollout adds up to %d pods and takes away up to %d\n", w.Surge(), w.Unavailable())
	for _, note := range w.Notes {
		fmt.Println("note:", note)
	}
	// Output:
	// Deployment/mailer runs 6 replicas
	// grace 45s, set on line 22; preStop takes 5s of it
	// a rollout adds up to 2 pods and takes away up to 1
	// note: preStop of container worker sleeps 5s and does more; 5s assumed, at least
	// note: container worker is taken for the worker, one of 2; preStop and stop signal of the others are not its own
	// note: Kubernetes refuses a stopSignal unless the pod says os: {name: linux}
	// note: the stop signal is SIGQUIT: simulated are workers that begin their drain at it, as those of quiesce do at SIGTERM and SIGINT alone
	// note: minReadySeconds is not simulated: the rollout goes on as soon as a new worker is ready, 5s earlier
}

func Example_refusal() {
	_, err := manifest.Parse("deploy.yaml", []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: mailer}
spec:
  template:
    spec:
      terminationGracePeriodSeconds: "30s"
      containers: [{name: worker}]
`), "")
	fmt.Println(err)
	// Output:
	// deploy.yaml:7:38: terminationGracePeriodSeconds "30s" is not a whole number of seconds; write 30
	//           terminationGracePeriodSeconds: "30s"
	//                                          ^
}
