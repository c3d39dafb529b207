package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/server/internal/kubemetrics"
)

// TestKubeMetrics compares the metrics of a server with those of kube-apiserver, and with the
// list of missing metrics.
func TestKubeMetrics(t *testing.T) {
	wanted, err := kubemetrics.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Metrics: Metrics{ShowHiddenForVersion: "1.36"}})
	c := raw(t, s)
	for _, path := range []string{"/api/v1/namespaces?limit=1", "/api/v1/namespaces/default", "/apis", "/readyz"} {
		get(t, c, s.URL+path, s.Token)
	}
	_, body := get(t, c, s.URL+"/metrics", s.Token)
	here := s.metrics.Metrics()
	for _, m := range wanted {
		d, ok := here[m.Name]
		switch {
		case m.Missing != "" && ok:
			t.Errorf("%s is there, but listed as missing", m.Name)
		case m.Missing == "" && !ok:
			t.Errorf("%s is missing without a reason", m.Name)
		}
		if !ok || m.Missing != "" {
			continue
		}
		if d.Labels != m.Labels {
			t.Errorf("%s: labels %s, want %s", m.Name, d.Labels, m.Labels)
		}
		if m.Stability != "-" && d.Stability != m.Stability {
			t.Errorf("%s: stability %s, want %s", m.Name, d.Stability, m.Stability)
		}
		if _, rest, shown := strings.Cut(body, "# TYPE "+m.Name+" "); shown {
			if kind, _, _ := strings.Cut(rest, "\n"); kind != m.Type {
				t.Errorf("%s: type %s, want %s", m.Name, kind, m.Type)
			}
		}
	}
}

// TestMixinMetrics checks the metrics with the labels that the rules, alerts and dashboards of
// kubernetes-mixin use for API servers. Rules that name a bucket need a histogram.
func TestMixinMetrics(t *testing.T) {
	s := run(t, Options{})
	here := s.metrics.Metrics()
	for name, labels := range map[string]string{
		"apiserver_request_total":                                "code,verb,resource",
		"apiserver_request_duration_seconds":                     "verb,scope,subresource,resource",
		"rest_client_requests_total":                             "code,host,method",
		"rest_client_request_duration_seconds":                   "verb,host",
		"apiserver_storage_objects":                              "resource",
		"apiserver_current_inflight_requests":                    "request_kind",
		"apiserver_admission_webhook_admission_duration_seconds": "name,operation,rejected,type",
		"apiserver_admission_step_admission_duration_seconds":    "operation,rejected,type",
		"etcd_request_duration_seconds":                          "operation",
		"apiserver_request_sli_duration_seconds":                 "verb,scope,subresource,resource",
		"apiserver_request_terminations_total":                   "component,code",
		"apiserver_client_certificate_expiration_seconds":        "",
		"aggregator_unavailable_apiservice":                      "name",
		"aggregator_unavailable_apiservice_total":                "name,reason",
		"kubernetes_build_info":                                  "git_version",
		"workqueue_adds_total":                                   "name",
		"workqueue_depth":                                        "name",
		"workqueue_queue_duration_seconds":                       "name",
		"process_resident_memory_bytes":                          "",
		"process_cpu_seconds_total":                              "",
		"go_goroutines":                                          "",
	} {
		d, ok := here[name]
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		for label := range strings.SplitSeq(labels, ",") {
			if !strings.Contains(","+d.Labels+",", ","+label+",") && label != "" {
				t.Errorf("%s has no label %s", name, label)
			}
		}
	}
	// The rules of the error budget select buckets of reads by scope, and of writes.
	c := raw(t, s)
	for _, path := range []string{"/api/v1/namespaces/default", "/api/v1/namespaces/default/configmaps", "/api/v1/configmaps"} {
		get(t, c, s.URL+path, s.Token)
	}
	send(t, c, s, http.MethodPost, "/api/v1/namespaces/default/configmaps", "application/json", `{"metadata":{"generateName":"a-"}}`)
	for _, wanted := range []struct{ verb, scope, le string }{
		{"GET", "resource", "1"}, {"LIST", "namespace", "5"}, {"LIST", "cluster", "30"}, {"POST", "resource", "1"},
	} {
		isWanted := func(name string) bool {
			return strings.HasPrefix(name, "apiserver_request_sli_duration_seconds_bucket{") && strings.Contains(name, `resource="configmaps"`) == (wanted.verb != "GET") &&
				strings.Contains(name, `le="`+wanted.le+`"`) && strings.Contains(name, `scope="`+wanted.scope+`"`) && strings.Contains(name, `verb="`+wanted.verb+`"`)
		}
		// A client may see a response before it is measured.
		for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(slices.Collect(maps.Keys(series(t, s))), isWanted); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("there is no bucket of %+v", wanted)
			}
		}
	}
}
