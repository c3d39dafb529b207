package lab

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
)

// conversions is a conversion webhook that records what it is asked for: the version and the names in spec of each object.
type conversions struct {
	mu    sync.Mutex
	asked []string
}

func (c *conversions) serve(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Request    map[string]any `json:"request,omitempty"`
		Response   map[string]any `json:"response,omitempty"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	objects, _ := review.Request["objects"].([]any)
	for _, o := range objects {
		object := o.(map[string]any)
		object["apiVersion"] = review.Request["desiredAPIVersion"]
		spec, err := json.Marshal(object["spec"]) // in the order of the names
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.asked = append(c.asked, fmt.Sprint(object["apiVersion"], " of ", string(spec)))
		c.mu.Unlock()
	}
	review.Response = map[string]any{"uid": review.Request["uid"], "result": map[string]any{"status": "Success"}, "convertedObjects": objects}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// take returns the requests since the last call, each in a line.
func (c *conversions) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return strings.Join(asked, "\n")
}

// TestStrict checks that a conversion webhook gets the requests of a write, and that a client gets the causes of a conflict, in an order
// that follows from the seed of the profile strict, that some of the objects are partial, and that the results are the same.
func TestStrict(t *testing.T) {
	w := startLab(t)
	hook := &conversions{}
	server := httptest.NewTLSServer(http.HandlerFunc(hook.serve))
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	var versions []string
	for i := 1; i <= 4; i++ {
		versions = append(versions, fmt.Sprintf(`{"name":"v%d","served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object",
			"x-kubernetes-preserve-unknown-fields":true}}}`, i, i == 1))
	}
	w.do("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(`{"metadata":{"name":"parts.example.com"},"spec":{
		"group":"example.com","names":{"plural":"parts","kind":"Part"},"scope":"Namespaced","versions":[%s],"conversion":{"strategy":"Webhook",
		"webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}}}}`, strings.Join(versions, ","), server.URL, ca))
	apply := func(version int, query, spec string) *answer {
		t.Helper()
		return w.call(call{do: fmt.Sprintf("PATCH /apis/example.com/v%d/namespaces/default/parts/p?%s apply", version, query),
			body: fmt.Sprintf(`{"apiVersion":"example.com/v%d","kind":"Part","metadata":{"name":"p"},"spec":%s}`, version, spec)})
	}
	for i := 1; i <= 4; i++ {
		eventually.True(t, fmt.Sprint("an apply in version ", i), func() bool {
			return apply(i, fmt.Sprint("fieldManager=owner-", i), fmt.Sprintf(`{"kept-%d":"x","dropped-%d":"x"}`, i, i)).code < 300
		})
	}
	// run returns the orders that some writes with a seed have, and their results. They are dry runs, so that each has the same state.
	run := func(seed int) (asked, causes, results string) {
		w.labOK("chaos", "--profile", "strict", "--agent", "tester/*", "--seed", fmt.Sprint(seed))
		hook.take()
		for range 3 {
			done := apply(1, "dryRun=All&fieldManager=owner-2", `{"kept-2":"x"}`)
			if done.code != http.StatusOK || done.header.Get("Lab-Fault") != "strict-in-any-order" {
				t.Fatalf("apply: %d %s %v", done.code, done.body, done.header)
			}
			spec, _ := json.Marshal(done.object(t).Object["spec"])
			results += string(spec)
			conflict := apply(1, "dryRun=All&fieldManager=other", `{"kept-1":"y","kept-2":"y","kept-3":"y","kept-4":"y"}`)
			if conflict.code != http.StatusConflict {
				t.Fatalf("conflict: %d %s", conflict.code, conflict.body)
			}
			for _, c := range conflict.status.Details.Causes {
				causes += c.Field + "\n"
			}
			results += conflict.status.Message
		}
		if a := w.call(call{do: "GET /apis/example.com/v1/namespaces/default/parts/p"}); a.header.Get("Lab-Fault") != "" {
			t.Error("a read is hit")
		}
		if calmed := w.labOK("calm"); calmed != "strict-in-any-order deleted, after 6 hits\n" {
			t.Errorf("calm: %s", calmed)
		}
		return hook.take(), causes, results
	}
	orders, conflicts := map[string]bool{}, map[string]bool{}
	_, _, want := run(1)
	for seed := 1; seed <= 6; seed++ {
		asked, causes, results := run(seed)
		againAsked, againCauses, _ := run(seed)
		if asked != againAsked || causes != againCauses {
			t.Errorf("seed %d: %s\n%s\nagain %s\n%s", seed, asked, causes, againAsked, againCauses)
		}
		if results != want || !strings.Contains(results, `"kept-2":"x"`) || strings.Contains(results, "dropped-2") {
			t.Errorf("seed %d: %s\nwant %s", seed, results, want)
		}
		orders[asked], conflicts[causes] = true, true
		if !lacks(asked, `"kept-2"`) {
			t.Errorf("seed %d: no object was partial: %s", seed, asked)
		}
	}
	if len(orders) < 6 || len(conflicts) < 6 {
		t.Errorf("6 seeds have %d orders of conversions and %d of causes", len(orders), len(conflicts))
	}
}

// lacks reports whether a line of a text lacks a word.
func lacks(text, word string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.Contains(line, word) {
			return true
		}
	}
	return false
}
