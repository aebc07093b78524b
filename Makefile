# Recipes are a line or two; what is longer is Go, under internal/arch.

# scenario of make simulate: a name (simulate scenarios), or a file
SCENARIO ?= five-minute-lease
# replications of make simulate
SEEDS ?= 10
# benchmarks of make bench, a regular expression
BENCH ?= .
# how long make fuzz stays with each target
FUZZTIME ?= 20s
# how long make hunt goes on
HUNTTIME ?= 5m
# the race detector, where there is the C compiler that it needs
RACE ?= $(if $(shell command -v "$$(go env CC)" 2>/dev/null),-race)
# packages that have no goroutines, which internal/arch sees to: nothing can race there
PURE = internal/deviation model model/dist protocol sim sim/agenda sim/explore sim/invariant
# what is tested without the race detector, which makes it five to ten times as slow: those, and what runs worlds or commands, or reads files, by the thousand.
# The longest come first, so that none is left alone at the end, and two that mostly wait.
CALM = $(addprefix ./,cmd/bench examples/... sim/hunt sim/explore cmd/simulate sim $(PURE) scenarios scenarios/trace)
# what waits for real time to pass, and is compared with it: both at once, and nothing beside them that works
PATIENT = ./realworld/redis ./realworld/fleet
# what has a target of its own, as it compiles the command for two processors
APART = ./internal/arch/determinism
# what is checked is compiled without default.pgo, or every package is compiled once more for the commands
PGO = -pgo=off
# run as it is, so that its dependencies are not ours
STATICCHECK ?= go run honnef.co/go/tools/cmd/staticcheck@v0.7.0

.DEFAULT_GOAL := help
.PHONY: help build tools test lint fmt bench costs profile throughput stops fuzz hunt cover cross determinism explore check simulate

help: ## List the targets and the variables
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo; awk '/^# / { said = substr($$0, 3) } /^[A-Z]+ \?= / { sub(/ \?= /, "="); if (!index($$0, "$$(")) said = said " (" $$0 ")"; sub(/=.*/, ""); printf "  %-12s %s\n", $$0, said }' $(MAKEFILE_LIST)

build: ## Build ./simulate
	go build ./cmd/simulate

tools: ## Install redis-server where that is possible; tests that need it say so and skip without it
	@.ci/need redis-server redis-server || true

# lint has vetted it by then
test: tools lint ## What CI runs: lint, and every test but determinism, with the race detector where anything can race
	go test $(RACE) $(PGO) -vet=off -p 3 -timeout 15m $$(go list ./... | grep -vxF "$$(go list $(CALM) $(PATIENT) $(APART))")
	go test $(RACE) $(PGO) -vet=off -timeout 15m $(PATIENT)
	go test $(RACE) $(PGO) -vet=off -run 'AnyNumberOfLanes|WhateverTheCores|IsStopped|AStopped' ./sim/explore ./sim/hunt ./cmd/simulate # their goroutines
	go test $(PGO) -vet=off -p 3 $(CALM)

lint: ## gofmt, vet and staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "make fmt would change:" $$unformatted >&2; exit 1; }
	go vet $(PGO) ./... && GOFLAGS="$$GOFLAGS $(PGO)" $(STATICCHECK) ./...

fmt: ## Format every Go file
	gofmt -w .

bench: ## Run the benchmarks of the core: nanoseconds and allocations per event (BENCH=Step)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./protocol/... ./model/... ./sim/...

costs: ## What full worlds of several sizes cost, in one table
	go run ./cmd/bench sim

profile: ## Make the profile anew by which simulate and bench are compiled (default.pgo)
	@mkdir -p out
	go test ./sim -run '^$$' -bench 'Hybrid1000$$|Crash' -benchtime 3s -cpuprofile out/sim.prof -o out/sim.test
	go test ./sim/explore -run '^$$' -bench . -benchtime 3s -cpuprofile out/explore.prof -o out/explore.test
	go tool pprof -proto out/sim.prof out/explore.prof > cmd/simulate/default.pgo && cp cmd/simulate/default.pgo cmd/bench/

throughput: ## The Redis queue, asynq and river beside it: jobs a second, latency, what a job costs (seven minutes)
	go run ./cmd/bench redis

stops: ## What SIGTERM and SIGKILL cost the jobs of a worker, asynq and river beside it (six minutes)
	go run ./cmd/bench drain

fuzz: ## Run every fuzz target in turn (FUZZTIME=5m)
	go run ./internal/arch/fuzz -time $(FUZZTIME)

hunt: ## See that every known mistake is found, then look for unknown ones (HUNTTIME=1h)
	go run ./cmd/simulate selftest
	go run ./cmd/simulate hunt --for $(HUNTTIME)

cover: ## Test coverage by function, into out/cover.txt, and in all
	@mkdir -p out && go test -coverpkg=./... -coverprofile=out/cover.out ./...
	@go tool cover -func=out/cover.out > out/cover.txt && tail -n 1 out/cover.txt

cross: ## See that everything compiles for macOS and Windows, tests included
	GOOS=darwin CGO_ENABLED=0 go vet $(PGO) ./... && GOOS=darwin CGO_ENABLED=0 go build $(PGO) ./...
	GOOS=windows CGO_ENABLED=0 go vet $(PGO) ./... && GOOS=windows CGO_ENABLED=0 go build $(PGO) ./...

determinism: ## Same seed, same bytes: two processes, two widths, and arm64 where qemu-user is there
	go test -count=1 -v ./internal/arch/determinism

explore: ## Search every small world completely, the large ones too
	go run ./cmd/simulate explore --all

check: test cross determinism explore fuzz hunt ## The longer checks: test, cross, determinism, explore, fuzz and hunt

simulate: ## Compare policies in one scenario (SCENARIO=rolling-wave SEEDS=20)
	go run ./cmd/simulate compare $(SCENARIO) --seeds $(SEEDS)
