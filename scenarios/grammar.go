package scenarios

// This file is the table of keys of a scenario. Each field is one key: its type says what may
// stand there, its tags say the rest.
//
//	default   what is decoded when the key is not written
//	derived   the default in words, where it follows from other keys (resolve.go)
//	required  the key must be written once its mapping is
//	positive  zero makes no sense; least and most bound a count
//	shortest  the least of an interval whose events are simulated one by one
//	choices   the words of a choice

// document is a scenario file.
type document struct {
	place
	Name       text           `key:"name" derived:"the name of the file" about:"what tables and figures call it"`
	About      text           `key:"about" about:"what it shows, in one sentence"`
	Duration   duration       `key:"duration" required:"" positive:"" about:"simulated time, for example 6h"`
	Warmup     duration       `key:"warmup" derived:"a tenth of the duration, at most 30m" about:"jobs and interruptions before it are not measured"`
	Fleet      fleetKeys      `key:"fleet" about:"the workers that a deploy replaces"`
	Queue      queueKeys      `key:"queue" about:"the broker, and what it was told about jobs"`
	Jobs       jobsKeys       `key:"jobs" required:"" about:"the kinds of jobs by name, or a recorded trace"`
	Supervisor supervisorKeys `key:"supervisor" about:"what starts and stops the workers"`
	Deploys    deployKeys     `key:"deploys" about:"when a new version is rolled out"`
	Faults     faultKeys      `key:"faults" about:"what goes wrong"`
	Policies   policyList     `key:"policies" default:"[crash-only, drain, hybrid]" derived:"[crash-only, drain, hybrid]; with queue.preset that queue and hybrid" about:"ways of stopping and real queues to compare; the first is the baseline"`
	Finding    findingKeys    `key:"finding" about:"the one run that simulate hunt found, which simulate replay makes again"`
}

// findingKeys names a run, and what it showed.
type findingKeys struct {
	place
	Policy    text         `key:"policy" required:"" about:"one of policies"`
	Seed      count        `key:"seed" required:"" about:"of the run"`
	Invariant text         `key:"invariant" required:"" about:"the promise that is broken in it"`
	Overrides overrideList `key:"overrides" about:"random numbers that are not drawn, each as stream/entity/index=value: [message/4294967297/12=0]"`
}

type fleetKeys struct {
	place
	Workers  count        `key:"workers" least:"1" most:"1000000" derived:"the replicas of the supervisor's manifest; without one it must be written" about:"processes wanted at all times"`
	Slots    count        `key:"slots" least:"1" most:"10000" default:"1" about:"jobs at once per worker"`
	Prefetch count        `key:"prefetch" most:"10000" default:"0" about:"jobs that a worker claims beside those, and that wait in it for a slot; handed back at the stop"`
	Start    distribution `key:"start" default:"5s" about:"from the creation of a process until it asks for jobs"`
}

type queueKeys struct {
	place
	Preset      queueName `key:"preset" about:"a real queue whose settings are taken; what is written beside it is changed"`
	Lease       duration  `key:"lease" positive:"" default:"5m" about:"a claim is lost when it was not renewed for this long (also: visibility timeout)"`
	Heartbeat   duration  `key:"heartbeat" positive:"" shortest:"1ms" derived:"a third of the lease" about:"between two renewals"`
	Margin      duration  `key:"margin" positive:"" derived:"a fiftieth of the lease, at most 1s" about:"a worker stops trusting its lease this much before the end"`
	Drift       drift     `key:"drift" default:"0" about:"how far apart the workers expect clocks to run"`
	LongPoll    duration  `key:"long_poll" default:"20s" about:"how long a claim request may wait for a job; 0 has it answered at once"`
	Poll        duration  `key:"poll" positive:"" shortest:"1ms" derived:"100ms, doubled up to 2s" about:"between two claims that came back empty, shortened by up to half by jitter"`
	Service     duration  `key:"service" default:"0s" about:"a call of a worker keeps the broker busy this long, and the others wait in line, max_message_age at most; 0 is any number at once"`
	MaxFailures count     `key:"max_failures" default:"5" about:"a job is dead-lettered after so many failures; 0 is no limit"`
	Poison      count     `key:"poison" default:"3" about:"a job is dead-lettered after so many expired leases in a row; 0 is no limit"`
	Starving    count     `key:"starving" least:"1" default:"10" about:"a job is reported after so many interruptions without progress"`
	Backoff     struct {
		place
		Min duration `key:"min" positive:"" default:"1s" about:"after the first failure"`
		Max duration `key:"max" positive:"" default:"1m" about:"the longest; each wait is twice the one before"`
	} `key:"backoff" about:"the wait between a failure and the next attempt"`
	CountAtClaim flag  `key:"count_at_claim" default:"false" about:"every claim spends one of max_attempts, as in many queues"`
	MaxAttempts  count `key:"max_attempts" least:"1" derived:"5 with count_at_claim" about:"a job is dead-lettered after so many claims; needs count_at_claim"`
	Sweep        struct {
		place
		Period duration `key:"period" positive:"" shortest:"1ms" default:"1h" about:"between two sweeps, under policies that have one"`
		Slack  duration `key:"slack" default:"0s" about:"a lease must have been over for this long"`
	} `key:"sweep" about:"the sweep that looks for jobs of vanished workers"`
	MaxClaims     count    `key:"max_claims" least:"1" derived:"no limit" about:"so many jobs are claimed at once, by all workers together"`
	OnExpiry      choice   `key:"on_expiry" choices:"redeliver|quarantine|dead_letter" default:"redeliver" about:"what becomes of a job whose lease ran out"`
	MaxMessageAge duration `key:"max_message_age" positive:"" default:"10s" about:"the longest life of a message; the broker remembers the dead for so long"`
}

// behaviour is what a handler does, apart from when its jobs come and how long they take.
type behaviour struct {
	Checkpoint duration `key:"checkpoint" positive:"" default:"500ms" about:"the handler looks for cancellation this often"`
	Gap        duration `key:"gap" derived:"checkpoint where it fits into the grace beside undo and reserve, else 0s" about:"the checkpoint interval that the handler declares"`
	Undo       duration `key:"undo" default:"0s" about:"taking back partial work takes this long"`
	UndoFails  chance   `key:"undo_fails" default:"0%" about:"taking back fails"`
	Deaf       chance   `key:"deaf" default:"0%" about:"an execution never looks for cancellation"`
	CPUBound   chance   `key:"cpu_bound" default:"0%" about:"an execution starves its process, so that renewals wait for its end"`
	Fails      chance   `key:"fails" default:"0%" about:"an execution ends in an error"`
	OOM        chance   `key:"oom" default:"0%" about:"an execution kills its process"`
	Save       duration `key:"save" shortest:"1ms" default:"0s" about:"work between two saved cursors, from which the next execution goes on; 0 saves none"`
	Flush      flag     `key:"flush" default:"false" about:"a saved cursor is sent at once, and not with the next renewal; the handler works on meanwhile"`
	Batch      count    `key:"batch" least:"1" most:"1000000" derived:"none" about:"the jobs come in batches of so many, in the order of their arrival; a batch is complete when its counter says so"`
	Effects    count    `key:"effects" default:"1" most:"1000" about:"effects on the outside that no token guards"`
	Timeout    duration `key:"timeout" default:"0s" about:"limit of one execution; 0 is none"`
	Version    count    `key:"version" least:"1" most:"65535" default:"1" about:"of the payload"`
	NewVersion count    `key:"new_version" least:"1" most:"65535" derived:"version" about:"of the payload once the first deploy has begun"`
}

// kindKeys is one kind of job.
type kindKeys struct {
	place
	name     string
	Arrivals arrivals     `key:"arrivals" required:"" about:"when jobs of the kind come, for example {poisson: 13/s}"`
	Duration distribution `key:"duration" required:"" about:"the time of one undisturbed execution, for example {lognormal: {p50: 45s, p99: 4m}}"`
	Count    count        `key:"count" least:"1" derived:"no limit" about:"so many jobs of the kind altogether"`
	behaviour
}

// traceKeys is jobs as they were recorded; the kinds of the trace share one behaviour.
type traceKeys struct {
	place
	Trace text    `key:"trace" required:"" about:"a CSV or JSON file with arrival, duration and kind, an SWF file, a job list of GitHub Actions or an Azure Functions trace, gzipped or not, relative to this file"`
	Map   mapKeys `key:"map" about:"which columns or keys of the trace hold what, when they have other names; two of arrival, duration and end"`
	behaviour
}

// mapKeys names the columns of a trace.
type mapKeys struct {
	place
	Arrival  text `key:"arrival" about:"the column with the arrival, for example created_at, or started_ms:ms for plain numbers of milliseconds"`
	Duration text `key:"duration" about:"the column with the execution time, for example exec_time:m for minutes"`
	End      text `key:"end" about:"the column with the end of the execution"`
	Kind     text `key:"kind" about:"the column with the kind of the job"`
}

type supervisorKeys struct {
	place
	Kind          choice      `key:"kind" choices:"kubernetes|plain|systemd|docker|nomad|ecs|fargate|cloud-run|heroku|fly|supervisord|render" default:"kubernetes" about:"whose behaviour is followed; docker is Compose too, plain is SIGTERM, grace, SIGKILL and nothing else"`
	Grace         duration    `key:"grace" derived:"that of the kind: 30s under kubernetes, plain, ecs, fargate, heroku and render, 90s under systemd, 10s under docker, cloud-run and supervisord, 5s under nomad and fly" about:"between the request to stop a process and its SIGKILL"`
	PreStop       duration    `key:"prestop" default:"0s" about:"kubernetes: the preStop hook runs this long before the stop signal, which uses up grace"`
	PreStopTells  flag        `key:"prestop_tells" default:"false" about:"kubernetes: the preStop hook tells the worker, which begins to drain then and not at the stop signal"`
	ExecStop      duration    `key:"exec_stop" derived:"none" about:"systemd: ExecStop runs this long before the stop signal, at most as long as the grace, which then counts anew"`
	ShutdownDelay duration    `key:"shutdown_delay" derived:"none" about:"nomad: this passes between deregistering and the stop signal, and uses up no grace"`
	Signal        choice      `key:"signal" choices:"SIGTERM|SIGINT|SIGQUIT|SIGHUP|SIGUSR1|SIGUSR2|SIGWINCH" derived:"SIGINT under nomad and fly, else SIGTERM" about:"the stop signal"`
	Repeat        duration    `key:"repeat" positive:"" derived:"100ms under heroku, else it comes once" about:"the stop signal comes once more after this; a worker takes a repeat after more than a second for a request to hurry"`
	Rollout       rolloutKeys `key:"rollout" about:"how a deploy replaces the workers"`
	Manifest      text        `key:"manifest" about:"a manifest to take all of this from (Kubernetes, Compose, systemd, Nomad, ECS, Fly, Cloud Run, Procfile, supervisord, Render), relative to this file"`
	Select        text        `key:"select" about:"the workload in the manifest when it has several, as kind/name"`
}

type rolloutKeys struct {
	place
	Strategy       choice `key:"strategy" choices:"rolling|recreate|stateful|on_delete" default:"rolling" about:"a Deployment's two, a StatefulSet's one by one in reverse order, or none"`
	MaxSurge       share  `key:"max_surge" default:"25%" about:"processes above the wanted number, with strategy rolling"`
	MaxUnavailable share  `key:"max_unavailable" default:"25%" about:"processes below the wanted number, with strategy rolling"`
	Partition      count  `key:"partition" default:"0" about:"with strategy stateful, seats below it keep the old version"`
}

type deployKeys struct {
	place
	Every duration    `key:"every" positive:"" shortest:"1s" about:"one deploy in every such interval"`
	At    instantList `key:"at" about:"instants since the start, for example [10m, 40m]"`
	Count count       `key:"count" least:"1" derived:"no limit" about:"so many deploys of those by every"`
	Trace text        `key:"trace" about:"a CSV file with a column time: offsets since the start, or dates, of which the first is the start; relative to this file"`
	App   text        `key:"app" about:"only the rows of the trace whose column app has this value"`
}

type faultKeys struct {
	place
	Crash struct {
		place
		MTBF duration `key:"mtbf" required:"" positive:"" shortest:"1s" about:"the mean time between two crashes of one worker, for example 48h"`
	} `key:"crash" about:"a worker process dies"`
	Pause     spellKeys `key:"pause" about:"a worker process stands still while its clock runs on"`
	Partition spellKeys `key:"partition" about:"nothing passes between one worker and the broker"`
	Slow      struct {
		spellKeys
		By duration `key:"by" required:"" positive:"" about:"the delay, for example 2s"`
	} `key:"slow" about:"the broker answers late"`
	Failover struct {
		place
		Every   duration `key:"every" required:"" positive:"" shortest:"1s" about:"the mean time between two, for example 24h"`
		Forgets duration `key:"forgets" required:"" about:"the writes of this long are lost, for example 500ms"`
	} `key:"failover" about:"the broker fails over and forgets its last writes"`
	Drift    drift    `key:"drift" default:"0" about:"how far the workers' clocks really run apart"`
	Drill    chance   `key:"drill" default:"0%" about:"so many drains are killed on purpose, at an instant of their grace"`
	Liveness duration `key:"liveness" positive:"" derived:"never" about:"a draining worker fails its liveness probe and is killed this long after the stop signal"`
	Eviction struct {
		place
		Every duration `key:"every" required:"" positive:"" shortest:"1s" about:"the mean time between two of one worker, for example 24h"`
		Grace duration `key:"grace" required:"" about:"what the node leaves of the configured grace, for example 10s"`
	} `key:"eviction" about:"the node stops a worker with less grace than it was told: eviction, node shutdown, forced delete"`
	Preemption struct {
		place
		Every  duration `key:"every" required:"" positive:"" shortest:"1s" about:"the mean time between two of one worker, for example 24h"`
		Notice duration `key:"notice" required:"" about:"from the notice to the end of the machine, for example 2m"`
	} `key:"preemption" about:"a worker is told that its machine will be taken away, and then it is: spot instances"`
	ScaleIn struct {
		place
		Every   duration `key:"every" required:"" positive:"" shortest:"1s" about:"between two, for example 1h"`
		Workers count    `key:"workers" required:"" least:"1" about:"so many workers are stopped"`
		Back    duration `key:"back" required:"" positive:"" about:"so much later as many are started again, for example 10m"`
		Victims choice   `key:"victims" choices:"random|idle" default:"random" about:"idle: those that work on nothing go first"`
	} `key:"scale_in" about:"an autoscaler stops a part of the fleet for a while"`
	Network struct {
		place
		Latency   distribution `key:"latency" default:"{lognormal: {p50: 1ms, p99: 20ms}}" about:"of one message, one way"`
		Loss      chance       `key:"loss" default:"0%" about:"a message is lost"`
		Duplicate chance       `key:"duplicate" default:"0%" about:"a message arrives twice"`
	} `key:"network" about:"messages between workers and broker"`
	At    nodeFaultList `key:"at" about:"faults at given instants, each like {time: 10s, seat: 0, kind: pause, length: 5s}"`
	Trace text          `key:"trace" about:"recorded faults beside those: CSV with time, seat, kind and length, node failures as of LANL, or spot preemptions; relative to this file"`
}

// nodeFaultKeys is one fault at a given instant.
type nodeFaultKeys struct {
	place
	Time   duration `key:"time" required:"" about:"since the start, for example 10m"`
	Seat   count    `key:"seat" default:"0" about:"of the worker, from 0; the one that takes its place is hit as well"`
	Kind   choice   `key:"kind" choices:"crash|pause|partition|preempt" required:"" about:"crash, pause, partition or preempt"`
	Length duration `key:"length" default:"0s" about:"of a pause or a partition; of the notice before a preemption"`
}

type spellKeys struct {
	place
	Every  duration     `key:"every" required:"" positive:"" shortest:"1s" about:"the mean time between two, for example 6h"`
	Length distribution `key:"length" required:"" about:"how long each lasts, for example 30s"`
}

// policyKeys is a column that is none of the presets.
type policyKeys struct {
	place
	Name    text       `key:"name" required:"" about:"what tables call it"`
	Policy  policyName `key:"policy" derived:"hybrid, or that of the queue" about:"the way of stopping"`
	Queue   queueName  `key:"queue" about:"a real queue instead, as it is today"`
	Unsafe  faultList  `key:"unsafe" about:"faults that are built in, as people have them: to be compared, never to be used"`
	Counted choice     `key:"counted" choices:"by_job|by_run|after_ack" default:"by_job" about:"how the counter of a batch is written: by_job before the ack, once for a job however often it is run; by_run likewise, but once for every run; after_ack by a request of its own"`
	InStep  flag       `key:"in_step" default:"false" about:"its workers ask for jobs on ticks of queue.poll since their start, without jitter, as many queues do"`
}
