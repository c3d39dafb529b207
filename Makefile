# miniapiserver: a Kubernetes API server in one binary. `make help` lists the targets.

SHELL   := /bin/bash
GO      ?= go
BIN     := bin/miniapiserver
LDFLAGS := -s -w
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The same flags for whatever is compiled, so that the server and the tests share each package. Without debug information
# (DWARF) the compiler has a fifth less to do; the linker drops it anyway, and stack traces do not need it.
export GOFLAGS := -trimpath -pgo=off -gcflags=all=-dwarf=false $(GOFLAGS)
export CGO_ENABLED ?= 0

# The profile in cmd/miniapiserver makes the server faster, and makes the compiler
# build every package a second time. Only what is released or measured pays for it.
PROFILE := cmd/miniapiserver/default.pgo

# Flags for `make run`, e.g. make run ARGS="--ephemeral --v=3".
ARGS ?=

.PHONY: help
help: ## Show this help.
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# compile builds a command of the module in the working directory: flags, package. The first build takes minutes, so it
# says now and then how far it is.
compile = set -o pipefail; $(GO) build -v $(1) $(2) 2>&1 | awk -v total="$$($(GO) list -deps $(2) | wc -l)" \
	'/^[a-z][^ :]*$$/ { if (++n % 100 == 0) { print "compiled " n " of " total " packages"; fflush() } next } { print > "/dev/stderr" }'

.PHONY: run
run: build ## Build and start the server (ARGS="--flag ..." adds flags).
	@./$(BIN) $(ARGS)

.PHONY: build
build: ## Build bin/miniapiserver.
	@$(call compile,-ldflags '$(LDFLAGS)' -o $(BIN),./cmd/miniapiserver)

.PHONY: release
release: ## Build bin/miniapiserver with the profile: faster, and twice as long to build.
	@$(call compile,-pgo=$(PROFILE) -ldflags '$(LDFLAGS)' -o $(BIN),./cmd/miniapiserver)

# Where the archives of a release will be, for the index of setup-envtest.
DIST_URL ?= https://github.com/miniapiserver/miniapiserver/releases/latest/download

# DIST_PGO=off builds without the profile, for a trial.
DIST_PGO ?= auto

# DIST_PLATFORMS="linux/amd64 darwin/arm64" makes a trial for some platforms, to which this machine's must belong.
DIST_PLATFORMS ?=

.PHONY: dist
dist: ## Make a release in dist/: archives, .deb, .rpm, container image, envtest archives, packages for other languages.
	rm -rf dist
	$(GO) run ./internal/dist dist $(DIST_URL) $(DIST_PGO) $(DIST_PLATFORMS)

.PHONY: image
image: ## Build a container image with the server alone. Needs Docker.
	docker build -t miniapiserver .

# How many packages make test tests at a time. Tests wait for servers to start and to stop: with one package for each of two cores a quarter
# of their time was idle.
TEST_PACKAGES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))

.PHONY: test
test: ## Run all tests, those with a real kubectl, controller-runtime and the CRDs of real projects too.
	$(GO) test -p $(TEST_PACKAGES) ./...
	cd conformance/kubectl && $(GO) test -count=1 ./...
	cd conformance/clients && $(GO) test -count=1 ./...
	cd conformance/crds && $(GO) test -count=1 ./...

# Flags of make sandbox, such as SANDBOX_FLAGS="--nodes 3 --scene web-shop".
SANDBOX_FLAGS ?=

.PHONY: sandbox
sandbox: ## Build and run the sandbox: a control plane with controllers, scheduler and nodes, without containers.
	@mkdir -p $(dir $(BIN))
	@echo "The first build of the sandbox compiles parts of Kubernetes, which takes minutes."
	@cd sandbox && $(call compile,-ldflags '$(LDFLAGS)' -o $(abspath $(dir $(BIN)))/miniapiserver-sandbox,./cmd/miniapiserver-sandbox)
	@$(dir $(BIN))/miniapiserver-sandbox $(SANDBOX_FLAGS)

LESSON := docs/lessons/01-resource-version-and-watch.md

.PHONY: lessons
lessons: build ## Start the sandbox for the lessons of docs/lessons, with kubectl lab in bin, and show how the first one begins.
	@ln -sf miniapiserver bin/kubectl-lab
	@printf '\nThe first lesson: $(LESSON). In a second terminal:\n\n    export PATH=%s:$$PATH\n    export KUBECONFIG=...   # as the sandbox prints it\n' \
		"$(abspath bin)"
	@awk '/^\$$ /  && n < 6 { print "    " substr($$0, 3); n++ }' $(LESSON); echo
	@$(MAKE) --no-print-directory sandbox

.PHONY: bench-sandbox
bench-sandbox: ## Measure start-up, memory and a large cluster of the sandbox.
	cd sandbox && $(GO) run ./bench

.PHONY: test-sandbox
test-sandbox: ## Run the tests of the sandbox, the tour of docs/sandbox.md too. Its first build takes minutes.
	cd sandbox && $(GO) vet ./... && $(GO) test -count=1 -timeout 30m ./...

.PHONY: build-sandbox-tests
build-sandbox-tests: ## Build the tests of the sandbox. The first time takes minutes.
	cd sandbox && $(GO) test -run '^$$' ./...

.PHONY: test-sandbox-short
test-sandbox-short: ## Run the tests of the sandbox that take seconds.
	cd sandbox && $(GO) test -count=1 -short -timeout 5m ./...

.PHONY: compare-api
compare-api: ## List what changed in the API between two versions of its modules: OLD=v0.36.6 NEW=v0.37.2.
	@$(GO) run ./kinds/internal/compare $(OLD) $(NEW)

.PHONY: test-skew
test-skew: ## Run the sessions of kubectl with the kubectl of older releases of Kubernetes.
	cd conformance/kubectl && for mod in kubectl-*.mod; do $(GO) test -modfile=$$mod -count=1 -timeout 30m ./... || exit 1; done

# Flags of make test-page, such as PAGE_FLAGS="-update" to remake the pictures of docs/lab-page.md.
PAGE_FLAGS ?=

.PHONY: test-page
test-page: build ## Run the tests of the lab's page in a Chromium, which Debian's apt-get installs if there is none.
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  { apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; }
	cd lab/page/bundle && $(GO) vet ./...
	cd lab/page/browsertest && $(GO) vet ./... && $(GO) test -count=1 -timeout 10m ./... -binary $(abspath $(BIN)) $(PAGE_FLAGS)

.PHONY: test-packages
test-packages: build ## Make dist/packages for npm, Python, Java and Rust, install each and run its tests and README. apt-get and npm get what is missing.
	$(GO) test -count=1 -v -timeout 30m -tags packages ./internal/dist/packages -server $(abspath $(BIN)) -packages $(abspath dist/packages)

.PHONY: test-controller-runtime
test-controller-runtime: ## Run controller-runtime's own tests on this server, through envtest.
	cd conformance/clients && $(GO) test -count=1 -v -timeout 40m -tags controllerruntime -run TestControllerRuntime .

.PHONY: test-install
test-install: ## Install the server by "go install" from this checkout as a release. Compiles everything.
	$(GO) test -count=1 -v -timeout 60m -tags install -run TestInstall ./internal/dist

# The revision whose server make test-upgrade starts in turns with this one: the last release.
OLD_SERVER ?= $(shell git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null)

.PHONY: test-upgrade
test-upgrade: ## Start the server of OLD_SERVER (the last release) and this one in turns on the same data.
	$(GO) test -count=1 -v -timeout 60m -tags install -run TestUpgrade ./internal/dist -old '$(OLD_SERVER)'

.PHONY: race
race: export CGO_ENABLED := 1
race: ## Run the tests under the race detector.
	$(GO) test -race ./...

.PHONY: nightly
nightly: race faults growth fuzz test-controller-runtime test-skew test-upgrade test-sandbox ## Run what takes too long for every change: race detector, faults, growth, fuzz tests, controller-runtime, older kubectls, upgrades, the sandbox.

.PHONY: faults
faults: ## Kill, pause and cut off servers and etcd under load, FAULTS_FACTOR times as long as make test (default 10).
	FAULTS_FACTOR=$${FAULTS_FACTOR:-10} $(GO) test -count=1 -timeout 60m ./conformance/faults

.PHONY: growth
growth: ## Fail if a write with twice as many elements in a list or map costs more than three times as much, of all kinds. Takes half an hour.
	GROWTH_SCALE=$${GROWTH_SCALE:-1} ATTEMPTS=100 $(GO) test -count=1 -v -timeout 120m -run TestGrowth ./conformance/attempts

.PHONY: check
check: verify-generate ## gofmt, go vet, staticcheck, import graph, generated files.
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags install,packages ./internal/dist/...
	cd internal/dist/linux && $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test ./internal/layering

.PHONY: conformance
conformance: ## Replay the recorded conversations against a server in this process.
	$(GO) test -count=1 -v -run TestConversations ./conformance

REFERENCE := $(abspath $(dir $(BIN)))/reference
REFERENCE_LDFLAGS := $(LDFLAGS) $(foreach v,gitVersion=v1.37.2 gitMajor=1 gitMinor=37 gitTreeState=clean,-X k8s.io/component-base/version.$(v))

$(REFERENCE)/kube-apiserver: conformance/random/reference/go.mod
	@mkdir -p $(REFERENCE)
	@echo "The first build of the reference compiles Kubernetes, which takes about 25 minutes on two cores."
	cd conformance/random/reference && $(GO) build -o $(REFERENCE)/etcd go.etcd.io/etcd/server/v3
	cd conformance/random/reference && $(GO) build -ldflags '$(REFERENCE_LDFLAGS)' -o $(REFERENCE)/ \
	  k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-apiserver

# Flags of make compare-random, such as RANDOM_FLAGS="-seed 7 -steps 5000 -class lists,deletes -out /tmp/stories".
RANDOM_FLAGS ?=

.PHONY: compare-random
compare-random: build $(REFERENCE)/kube-apiserver ## Play random stories with a real kube-apiserver and with this server, and print what differs.
	$(GO) run ./conformance/cmd/comparerandom -reference $(REFERENCE) -binary $(BIN) $(RANDOM_FLAGS)

.PHONY: bench
bench: release ## Measure start-up, memory, and the server's CPU for create, get, list and watch.
	$(GO) run ./bench -binary $(BIN)
	$(GO) test -run '^$$' -bench . -benchmem ./storage ./kinds ./proto ./handlers ./handlers/representation ./handlers/description ./server ./internal/compressed \
	  ./ssa ./internal/quickjson ./internal/patch/... ./api/custom/structural

# The cluster of make bench-scale: its number of nodes, normal or busy, and further flags (docs/scale.md).
SIZE        ?= 500
LOAD        ?= normal
SCALE_FLAGS ?=

.PHONY: bench-scale
bench-scale: release ## Measure the server under the load of a cluster with SIZE nodes (default 500); LOAD=busy has three times the rates.
	$(GO) run -pgo=off ./bench/scale -binary $(BIN) -size $(SIZE) -load $(LOAD) $(SCALE_FLAGS)

# A server with coverage counters in every package, which says what runs for a request. It finds the
# frames of this module by their paths without those of the machine.
FLOW := $(GO) run -cover -covermode=atomic -coverpkg=github.com/miniapiserver/miniapiserver/... ./bench/flow

.PHONY: soak
soak: build ## Run a server under load that leaves nothing behind for SOAK (default 1h), and fail if anything grows or is always refused.
	$(GO) run ./bench/soak -binary $(BIN) -duration $${SOAK:-1h}

.PHONY: field-coverage
field-coverage: ## Write conformance/attempts/field-coverage: what the server checks of each field of each kind.
	$(GO) test -count=1 ./conformance/attempts -run TestFieldCoverage -update

.PHONY: flow
flow: ## Count the functions, the files and the stays in files of a GET, LIST, WATCH, CREATE and APPLY.
	@$(FLOW)

.PHONY: flow-docs
flow-docs: ## Write docs/flow.md: the functions of a GET and of an apply in their order.
	@$(FLOW) -update docs/flow.md

.PHONY: profile
profile: ## Remake the profile by which the compiler knows which code is hot.
	@$(GO) build -o /tmp/miniapiserver ./cmd/miniapiserver # a profile names the binary with its path
	$(GO) run ./bench -binary /tmp/miniapiserver -starts 1 -lists 10 -durable "" -run create,createpod,get,list,listproto,update,patch,apply,delete -profile $(PROFILE)

.PHONY: fuzz
fuzz: ## Run each fuzz test for FUZZTIME (default 30s).
	@for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${FUZZTIME:-30s} $$pkg || exit 1; done; done

.PHONY: generate
generate: ## Remake generated files.
	$(GO) generate ./...

# The modules of Kubernetes and the constants that name its release.
KUBERNETES_FILES = $$(git ls-files '*go.mod') internal/kubeversion/kubeversion.go Makefile

.PHONY: update-kubernetes
update-kubernetes: ## Set the modules of Kubernetes to a patch release, and remake what is generated from them: VERSION=1.37.3.
	@[[ "$(VERSION)" =~ ^1\.[0-9]+\.[0-9]+$$ ]] || { echo "VERSION is not a version such as 1.37.3"; exit 2; }
	@old=$$(sed -nE 's/^const BinaryVersion = "v1\.([0-9.]+)"/\1/p' internal/kubeversion/kubeversion.go); new="$(VERSION)"; new=$${new#1.}; \
	[[ "$${old%.*}" == "$${new%.*}" ]] || { echo "docs/new-kubernetes-version.md says what another minor version needs"; exit 2; }; \
	sed -i.old -E "s/(k8s\.io\/[a-z-]+ )v0\.$${old//./\\.}( |\$$)/\1v0.$$new\2/; s/\bv1\.$${old//./\\.}\b/v1.$$new/" $(KUBERNETES_FILES); \
	for f in $(KUBERNETES_FILES); do rm "$$f.old"; done
	@for mod in $$(git ls-files '*go.mod'); do grep -q k8s.io/ $$mod || continue; echo "$$mod"; (cd $$(dirname $$mod) && $(GO) mod tidy) || exit 1; done
	$(MAKE) generate

.PHONY: verify-generate
verify-generate: ## Fail if generated files are not up to date.
	@before=$$(git status --porcelain; git diff | sha256sum); $(GO) generate ./... && \
	after=$$(git status --porcelain; git diff | sha256sum); \
	if [ "$$before" != "$$after" ]; then echo "generated files are out of date: run make generate"; git status --short; exit 1; fi

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin dist
