package conformance

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/server"
)

var (
	serverURL = flag.String("server", "", "URL of a server to replay against; none means one in this process")
	token     = flag.String("token", "admin-token", "bearer token of an administrator of -server")
	update    = flag.Bool("update", false, "rewrite the list of steps that differ")
	differing = flag.String("differs", "testdata/differs.txt", "file that lists the steps that differ")
	noAccount = flag.Bool("no-service-accounts", false, "-server makes no default service accounts: do not wait for them")
	only      = flag.String("only", "", "replay only scenarios whose name contains this")
)

// listedRetryLimit limits the retries of steps that are known to differ.
const listedRetryLimit = time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server with the users of the conversations.
func start(t *testing.T) *server.Server {
	t.Helper()
	s, _ := startWith(t, conversationOptions())
	return s
}

// conversationOptions returns the options of the recorded server.
func conversationOptions() server.Options {
	return server.Options{
		Authentication: server.Authentication{TokenFile: "testdata/tokens.csv", BootstrapTokens: true},
		Admission:      server.Admission{EnablePlugins: []string{"NodeRestriction"}},
		// The recorded server had no such controller beside it.
		Controllers: server.Controllers{Off: []string{"service-cidr-controller"}},
		// Whether a response has the condition Unused of a claim depends on the speed of its controller.
		FeatureGates: map[string]bool{"PersistentVolumeClaimUnusedSinceTime": false},
	}
}

// TestConversations replays all conversations and compares the results with the known differences.
func TestConversations(t *testing.T) {
	replay(t, "testdata", *differing, conversationOptions())
}

// TestEmulation replays the conversations to which kube-apiserver responds otherwise if it emulates 1.36.
func TestEmulation(t *testing.T) {
	if *serverURL != "" {
		t.Skip("-server does not say which release the server emulates")
	}
	const dir = "testdata/emulated-1.36"
	o := conversationOptions()
	o.Emulation.Version = "1.36"
	replay(t, dir, filepath.Join(dir, "differs.txt"), o)
}

// replay replays the conversations in a directory on a server with the options, and compares the
// results with the known differences in a file.
func replay(t *testing.T, dir, differs string, o server.Options) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "conversations", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := conversation.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	known, err := conversation.ReadKnownDiffs(differs)
	if err != nil {
		t.Fatal(err)
	}
	r := conversation.Replayer{Server: *serverURL, Token: *token, Parallel: 24, Only: *only, NoServiceAccounts: *noAccount}
	if r.Server == "" {
		o.Controllers.NamespaceConditionDelay = 6 * time.Second // the default of the flag
		s, _ := startWith(t, o)
		r.Server = s.URL
	}
	r.RetryLimit = func(name string, wanted time.Duration) time.Duration {
		if known.Lists(name) {
			return min(wanted, listedRetryLimit)
		}
		return wanted
	}
	results, err := r.Run(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if *only != "" {
			t.Fatal("-update needs all scenarios: -only leaves lines out")
		}
		known = known.Updated(results)
		if err := known.Write(differs, results); err != nil {
			t.Fatal(err)
		}
	}
	report(t, known, results)
	for _, total := range conversation.Totals(results) {
		t.Log(total)
	}
}

// report fails the test for each step that contradicts the known differences.
func report(t *testing.T, known conversation.KnownDiffs, results []conversation.Result) {
	t.Helper()
	const most = 30
	faults := map[string]int{}
	for _, result := range results {
		fault := known.Fault(result)
		if fault == "" {
			continue
		}
		if faults[result.Group]++; faults[result.Group] <= most {
			t.Errorf("%s %s", result.Name(), fault)
		}
	}
	for group, n := range faults {
		if n > most {
			t.Errorf("%s: %d more steps", group, n-most)
		}
	}
}
