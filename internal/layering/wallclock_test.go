package layering

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// wallClock lists the readings of the wall clock, by the reason for which each is not one of the clock that a lab can move
// (internal/clock): FILE NUMBER. Stamps in objects and decisions about what has expired are by that clock. time.Since and timers are
// durations, and need no reason.
var wallClock = map[string]string{
	"the start of a measured duration": `admission/chain.go 2, admission/match/conditions.go 1, admission/policy/hooks.go 1, admission/policy/mutate.go 1,
		admission/policy/mutating.go 1, admission/policy/validating.go 3, admission/webhook/mutate.go 1, admission/webhook/validate.go 1,
		api/custom/structural/ratchet.go 1, authn/externaljwt/metrics.go 1, authn/oidc.go 1, authz/metrics.go 1, authz/webhook.go 1,
		cmd/miniapiserver/commands.go 1, cmd/miniapiserver/kubeapiserver.go 1, controllers/customkinds/conversion.go 2,
		controllers/customkinds/schemas.go 1, handlers/authenticate.go 1, handlers/impersonate.go 1, handlers/impersonate_modes.go 1,
		handlers/metrics.go 1, handlers/representation/encode.go 1, handlers/representation/list.go 1, handlers/watch.go 1,
		internal/hooks/review.go 1, internal/monotonic/monotonic.go 1, internal/outbound/metrics.go 2, internal/recovery/recovery.go 1,
		lab/rewind.go 1, lab/try/observe.go 2, registry/allocation/allocate.go 1, registry/update.go 1, request/account.go 1, request/span.go 3,
		server/bootstrap/service.go 1, server/start.go 1, storage/collection.go 1, storage/compact.go 1, storage/embedded.go 1,
		storage/encryption/chain.go 2, storage/encryption/service.go 1, storage/follow.go 1, storage/history.go 2, storage/local.go 1,
		storage/read.go 2, storage/write.go 2`,
	"the deadline of a request or a connection, or the rest of it": `admission/podsecurity/existing.go 1, handlers/options.go 1,
		handlers/proxy/channels.go 4, handlers/proxy/guard.go 1, handlers/representation/frames.go 2, internal/configfile/configfile.go 1, internal/hooks/client.go 1,
		lab/page/page.go 1, server/audit.go 1, server/serve.go 2, storage/watch.go 1, storage/watcher.go 4`,
	"a pause or a limit of a rate": `admission/plugins/eventratelimit.go 1, apf/limiter.go 1, authn/distributedclaims.go 1, cmd/miniapiserver/progress.go 2,
		controllers/elections/leadership.go 2, controllers/policystatus.go 2, controllers/reconcile/queue.go 3, controllers/rootca.go 1,
		controllers/tokensecret.go 1, handlers/pace.go 1, internal/pagetest/run.go 2, internal/eventually/eventually.go 2, registry/conversioncache.go 1, registry/registry.go 2,
		server/logwatch.go 1, server/many.go 2, server/transport/idle.go 1`,
	"the time for which a replay repeats a request or reads a stream": `lab/conversation/session.go 3, lab/conversation/stream.go 1,
		lab/conversation/timed.go 1`,
	"the age of what is cached, which a clock that stands would keep for ever": `authn/cache.go 1, authn/externaljwt/externaljwt.go 1,
		storage/encryption/encryption.go 1, storage/storage.go 1`,
	"the default of a field that package server sets to the clock": `admission/quota/plugin.go 1, audit/auditor.go 1, authn/bootstrap.go 1, authn/chains.go 1,
		authn/issuer.go 1, authn/serviceaccount.go 1, handlers/handler.go 1, registry/registry.go 1`,
	"how long a fault of the lab holds up a watch": `handlers/fault_watch.go 2, lab/fault.go 1`,
	"the metrics of queues, which are durations":   `controllers/reconcile/loop.go 1`,
	"the clock itself":                             `internal/clock/clock.go 3, internal/clock/move.go 6, internal/clock/timers.go 1, lab/clock.go 5`,
	"ages of log files and faults of backends":     `audit/auditor.go 2`,
	"times of the requests that the lab keeps: it orders them by time, and shows when they were": `handlers/chain.go 1, lab/lab.go 1, lab/record.go 3, lab/exchange.go 4,
		lab/traffic.go 1`,
	"the start of a request, from which its duration is measured":     `handlers/chain.go 1`,
	"when documents and checks of the process changed":                `handlers/handler.go 1`,
	"the start of the response of a request, and its deadline":        `handlers/response.go 2`,
	"kinds for tests and for checks of flags, which stamp nothing":    `internal/kindtest/kindtest.go 1, kinds/kinds.go 1`,
	"a certificate must be valid by the clocks of other programs too": `server/credentials/keypair.go 1`,
	"a certificate is issued by a command":                            `cmd/miniapiserver/kubeconfig.go 1`,
	"the certificates of many servers, which have no lab":             `server/many.go 1`,
	"ages and times for the reader of a client's output":              `lab/kubectl/command.go 1`,
	"ages of directories and names of files":                          `server/ephemeral.go 1, server/store.go 1`,
}

// TestWallClockUses checks that every reading of the wall clock is in the list above.
func TestWallClockUses(t *testing.T) {
	listed := map[string]int{}
	for reason, uses := range wallClock {
		for use := range strings.SplitSeq(uses, ",") {
			var file string
			var n int
			if _, err := fmt.Sscan(use, &file, &n); err != nil {
				t.Fatalf("%s: %q: %v", reason, use, err)
			}
			listed[file] += n
		}
	}
	found := map[string]int{}
	eachSource(t, func(path string, _ *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if ok && (isSelector(e, "time", "Now") || isSelector(e, "time", "Until") || isSelector(e, "metav1", "Now") || isSelector(e, "metav1", "NowMicro")) {
				found[path]++
			}
			return true
		})
	})
	for file, n := range found {
		if listed[file] != n {
			t.Errorf("%s reads the wall clock %d times, and %d readings have a reason: use the clock of the server, or add a reason", file, n, listed[file])
		}
		delete(listed, file)
	}
	for file, n := range listed {
		if n > 0 {
			t.Errorf("%s has reasons for %d readings of the wall clock, and none", file, n)
		}
	}
}
