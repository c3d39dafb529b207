package lab

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/server"
)

// TestConversations replays the recorded conversations against a server with a lab. The responses must be those of a server without
// one; and the Request of every refused request must name a layer that fits its code. It replays some groups of conversations; with
// CONVERSATIONS=all all of them, which takes minutes.
func TestConversations(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "conversations", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CONVERSATIONS") != "all" {
		paths = slices.DeleteFunc(paths, func(path string) bool {
			group, _, _ := strings.Cut(filepath.Base(path), ".")
			return !slices.Contains([]string{"errors", "patch", "authn"}, group)
		})
	}
	files, err := conversation.Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	known, err := conversation.ReadKnownDiffs(filepath.Join("..", "testdata", "differs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, server.Options{
		Lab:            server.Lab{Enabled: true, Memory: 2 << 30},
		Authentication: server.Authentication{BootstrapTokens: true},
		Admission:      server.Admission{EnablePlugins: []string{"NodeRestriction"}},
		Controllers:    server.Controllers{Off: []string{"service-cidr-controller"}, NamespaceConditionDelay: 6 * time.Second},
		FeatureGates:   map[string]bool{"PersistentVolumeClaimUnusedSinceTime": false},
	})
	r := conversation.Replayer{Server: w.s.URL, Token: "admin-token", Parallel: 24}
	r.RetryLimit = func(name string, wanted time.Duration) time.Duration {
		if known.Lists(name) {
			return min(wanted, time.Second)
		}
		return wanted
	}
	results, err := r.Run(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		// Whether a known difference is gone is a question for the test of all conversations: some come and go with the requests
		// before them.
		if fault := known.Fault(result); fault != "" && len(result.Differences) > 0 {
			t.Errorf("%s: %s %v", result.Name(), fault, result.Differences)
		}
	}
	w.request(w.do("GET /version", "").id)
	refused, odd, layers := 0, map[string][]string{}, map[string][]string{}
	for _, req := range w.list("") {
		s := req.Status
		if s.Code < 400 {
			if s.Cause != nil {
				t.Errorf("%s %s: %d has the cause %+v", req.Spec.Method, req.Spec.URI, s.Code, s.Cause)
			}
			continue
		}
		refused++
		if by := s.Cause; by != nil && testing.Verbose() {
			key := fmt.Sprintf("%s: %d %s", by.By, s.Code, s.Reason)
			layers[key] = append(layers[key], fmt.Sprintf("%s %.100s: %.150s", req.Spec.Method, req.Spec.URI, cmp.Or(w.request(req.Name).Status.Message, "no message")))
		}
		if s.Cause == nil || !fits(s.Cause.By, int(s.Code)) {
			by := ""
			if s.Cause != nil {
				by = s.Cause.By
			}
			full := w.request(req.Name)
			key := fmt.Sprintf("%d %s by %q", s.Code, s.Reason, by)
			odd[key] = append(odd[key], fmt.Sprintf("%s %.150s: %.300s", req.Spec.Method, req.Spec.URI, cmp.Or(full.Status.Message, "no message")))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(odd)) {
		t.Errorf("%s: %d requests, such as %q", key, len(odd[key]), odd[key][:min(len(odd[key]), 4)])
	}
	for _, key := range slices.Sorted(maps.Keys(layers)) {
		t.Logf("%s: %d requests, such as %q", key, len(layers[key]), layers[key][len(layers[key])/2])
	}
	t.Logf("%d refused requests", refused)
}

// fits reports whether a layer may refuse a request with a code.
func fits(by string, code int) bool {
	codes := map[string][]int{
		v1alpha1.CauseAuthentication: {401}, v1alpha1.CauseImpersonation: {400, 403, 500}, v1alpha1.CauseAuthorization: {403, 500}, v1alpha1.CauseFlowControl: {429},
		v1alpha1.CauseRouting: {404, 405, 403, 400, 501}, v1alpha1.CauseDecoding: {400, 406, 413, 415, 422, 500}, v1alpha1.CauseAdmissionPlugin: {400, 403, 404, 409, 422, 429, 500},
		v1alpha1.CauseAdmissionPolicy: {400, 403, 409, 413, 422, 401, 500}, v1alpha1.CauseConversion: {500, 400}, v1alpha1.CauseFieldManagement: {409, 422, 500},
		v1alpha1.CauseConflict: {409}, v1alpha1.CausePrecondition: {409, 429, 403, 412, 422}, v1alpha1.CauseValidation: {400, 403, 405, 409, 422, 500}, v1alpha1.CauseStorage: {404, 409, 410, 500, 503, 504},
		v1alpha1.CauseServer: {500, 501, 502, 503, 504},
	}
	return by == v1alpha1.CauseAdmissionWebhook || slices.Contains(codes[by], code)
}
