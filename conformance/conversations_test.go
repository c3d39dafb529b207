package conformance

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

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

// Bounds for steps that are repeated until something happens: where it is known
// not to happen, and where nobody knows yet.
const (
	listedPatience = time.Second
	updatePatience = 5 * time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server for a test, with the users of the conversations.
func start(t *testing.T) *server.Server {
	t.Helper()
	s, _ := startWith(t, conversationOptions())
	return s
}

// conversationOptions are those of the recorded server.
func conversationOptions() server.Options {
	return server.Options{
		TokenFile: "testdata/tokens.csv", EnableAdmissionPlugins: []string{"NodeRestriction"},
		Authentication: server.Authentication{BootstrapTokens: true},
	}
}

// TestConversations replays all conversations and holds the ratchet.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob("testdata/conversations/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	ratchet, err := ReadRatchet(*differing)
	if err != nil {
		t.Fatal(err)
	}
	r := Replayer{Server: *serverURL, Token: *token, Parallel: 24, Only: *only, NoServiceAccounts: *noAccount}
	if r.Server == "" {
		o := conversationOptions()
		o.NamespaceDeletionDelay = 6 * time.Second // the default of the command
		s, _ := startWith(t, o)
		r.Server = s.URL
	}
	r.Patience = func(name string, wanted time.Duration) time.Duration {
		switch {
		case ratchet.Lists(name):
			return min(wanted, listedPatience)
		case *update:
			return min(wanted, updatePatience)
		}
		return wanted
	}
	results, err := r.Run(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	second := again(t, r, ratchet, files, results)
	if *update {
		ratchet = ratchet.Updated(results, second)
		if *only != "" {
			t.Fatal("-update needs all scenarios: -only leaves lines out")
		}
		if err := ratchet.Write(*differing, results); err != nil {
			t.Fatal(err)
		}
	} else {
		report(t, ratchet, results, second)
	}
	for _, total := range ratchet.Totals(results) {
		t.Log(total)
	}
}

// again replays the scenarios that are not as the ratchet says, one by one, and returns what came of their steps.
func again(t *testing.T, r Replayer, ratchet Ratchet, files []File, results []Result) map[string]Result {
	t.Helper()
	type key struct{ group, scenario string }
	faulty := map[key]bool{}
	for _, result := range results {
		if ratchet.Fault(result) != "" {
			faulty[key{result.Group, result.Scenario}] = true
		}
	}
	var some []File
	for _, f := range files {
		chosen := File{Group: f.Group}
		for _, s := range f.Scenarios {
			if faulty[key{f.Group, s.Name}] {
				chosen.Scenarios = append(chosen.Scenarios, s)
			}
		}
		some = append(some, chosen)
	}
	if r.Parallel = 1; *update {
		r.Parallel = 8 // there may be many
	}
	second := map[string]Result{}
	results, err := r.Run(t.Context(), some)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		second[result.Name()] = result
	}
	return second
}

// report fails the test for each step that is not as the ratchet says, twice.
func report(t *testing.T, ratchet Ratchet, results []Result, second map[string]Result) {
	t.Helper()
	const most = 30
	faults := map[string]int{}
	for _, result := range results {
		if ratchet.Fault(result) == "" {
			continue
		}
		fault := ratchet.Fault(second[result.Name()])
		if fault == "" {
			t.Logf("%s: as listed only the second time", result.Name())
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
