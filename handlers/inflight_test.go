package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/request"
)

// oneSeat returns a limiter with one seat for testers, which rejects requests without a seat.
func oneSeat(t testing.TB) *apf.Limiter {
	t.Helper()
	l, err := apf.New(apf.Options{Seats: 1})
	if err != nil {
		t.Fatal(err)
	}
	none, all := int32(0), []string{"*"}
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "level"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{BorrowingLimitPercent: &none,
			LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}},
	}}
	schema := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "testers", UID: "schema"}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "one"}, MatchingPrecedence: 100,
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "testers"}}},
			ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}}
	l.Configure([]*flowcontrolv1.FlowSchema{schema}, []*flowcontrolv1.PriorityLevelConfiguration{level})
	return l
}

// classified reports whether the headers have the flow schema and level of oneSeat.
func classified(w *httptest.ResponseRecorder) bool {
	return w.Header().Get("X-Kubernetes-PF-FlowSchema-UID") == "schema" && w.Header().Get("X-Kubernetes-PF-PriorityLevel-UID") == "level"
}

// TestPriorityAndFairness checks that every response has the headers of its flow schema, that
// requests without a seat are rejected, and that exempt requests and connections need none.
func TestPriorityAndFairness(t *testing.T) {
	entered, leave := make(chan string), make(chan struct{})
	handler := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		entered <- r.Method
		<-leave
	}, func(c *Config) { c.Limiter = oneSeat(t) })
	done := make(chan *httptest.ResponseRecorder)
	start := func(path, group string) {
		go func() { done <- through(handler, httptest.NewRequest(http.MethodGet, path, nil), "Group", group) }()
		<-entered
	}
	start(mapsPath, "testers")
	w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath, nil), "Group", "testers")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Body.String() != "Too many requests, please try again later.\n" || !classified(w) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	start(mapsPath, request.GroupMasters)
	start("/api/v1/namespaces/ns/pods/p/log", "testers")
	ofSchema := 0
	for range 3 {
		leave <- struct{}{}
		if w := <-done; classified(w) {
			ofSchema++
		}
	}
	if ofSchema != 1 {
		t.Errorf("%d of 3 responses have the flow schema, want only that of the tester's list", ofSchema)
	}
	start(mapsPath, "testers") // the seat is free again
	leave <- struct{}{}
	<-done
	if w := through(handler, httptest.NewRequest(http.MethodGet, mapsPath+"?timeout=x", nil), "Group", "testers"); w.Code != http.StatusBadRequest {
		t.Errorf("an invalid timeout: code %d", w.Code)
	}
}

// TestRefusedIsClassified checks that errors have the headers of the flow schema too.
func TestRefusedIsClassified(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Limiter = oneSeat(t) })
	for _, path := range []string{mapsPath + "/none", "/nowhere", "/healthz", mapsPath} {
		if w := sendText(t, h, http.MethodGet, path, "", "Group", "testers"); !classified(w) {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}

// TestWatchReleasesSeat checks that a watch releases its seat after its initial events.
func TestWatchReleasesSeat(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Limiter = oneSeat(t) })
	addMaps(t, h, "a", "b")
	for _, query := range []string{"?watch=1", "?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, mapsPath+query, nil)
			r.Header.Set("Group", "testers")
			h.ServeHTTP(&sink{header: http.Header{}}, r)
		}()
		// The watch has begun, and another request gets the seat.
		free := false
		for deadline := time.Now().Add(20 * time.Second); !free && time.Now().Before(deadline); {
			_, text := series(t, h.Metrics, "apiserver_longrunning_requests")
			free = strings.Contains(text, "gauge:{value:1}") && sendText(t, h, http.MethodGet, mapsPath, "", "Group", "testers").Code == http.StatusOK
		}
		select {
		case <-ended:
			t.Errorf("%s: the watch has ended", query)
		default:
		}
		if !free {
			t.Errorf("%s: the watch keeps its seat", query)
		}
		cancel()
		<-ended
	}
	// A watch that fails releases it too.
	if w := sendText(t, h, http.MethodGet, mapsPath+"?watch=1&resourceVersion=x", "", "Group", "testers"); w.Code != http.StatusInternalServerError {
		t.Errorf("got %d", w.Code)
	}
	if w := sendText(t, h, http.MethodGet, mapsPath, "", "Group", "testers"); w.Code != http.StatusOK {
		t.Errorf("got %d", w.Code)
	}
}

// TestDumpPaths checks that the dumps of flow control are served if there is a limiter.
func TestDumpPaths(t *testing.T) {
	with, without := newHandler(t, func(c *Config) { c.Limiter = oneSeat(t) }), newHandler(t, nil)
	for _, name := range []string{"dump_priority_levels", "dump_queues", "dump_requests", "dump_requests?includeRequestDetails=1"} {
		path := "/debug/api_priority_and_fairness/" + name
		if w := sendText(t, with, http.MethodGet, path, ""); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if w := sendText(t, without, http.MethodGet, path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s without: %d", name, w.Code)
		}
	}
}

// BenchmarkGetLimited compares a get without a limiter with that of an exempt user and that
// of a user in a priority level with queues.
func BenchmarkGetLimited(b *testing.B) {
	for _, bench := range []struct{ name, group string }{{"plain", request.GroupMasters}, {"exempt", request.GroupMasters}, {"fair", "testers"}} {
		b.Run(bench.name, func(b *testing.B) {
			h := newHandler(b, func(c *Config) {
				if bench.name != "plain" {
					c.Limiter = fairLimiter(b)
				}
			})
			addMaps(b, h, "a")
			newRepeater(b, h, mapsPath+"/a", "Group", bench.group).run(b)
		})
	}
}

// fairLimiter returns a limiter with many queues for testers.
func fairLimiter(t testing.TB) *apf.Limiter {
	t.Helper()
	l, err := apf.New(apf.Options{Seats: 600})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"*"}
	level := &flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeQueue,
			Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 128, HandSize: 6, QueueLengthLimit: 50}}},
	}}
	schema := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "testers"}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "many"}, MatchingPrecedence: 100,
		DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:      []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "testers"}}},
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true}},
		}},
	}}
	l.Configure([]*flowcontrolv1.FlowSchema{schema}, []*flowcontrolv1.PriorityLevelConfiguration{level})
	return l
}

// TestLimiterAllocatesLittle checks that the limiter allocates at most two objects for each
// request: the ticket and the context of its deadline.
func TestLimiterAllocatesLittle(t *testing.T) {
	allocated := func(l *apf.Limiter) float64 {
		h := newHandler(t, func(c *Config) { c.Limiter = l })
		addMaps(t, h, "a")
		r := newRepeater(t, h, mapsPath+"/a", "Group", "testers")
		r.send(t)
		return testing.AllocsPerRun(200, func() { r.send(t) })
	}
	if plain, fair := allocated(nil), allocated(fairLimiter(t)); fair > plain+2 {
		t.Errorf("%.0f objects, and %.0f without it", fair, plain)
	}
}
