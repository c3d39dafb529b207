// Command metricdocs writes docs/metrics.md from the lists of metrics. It is run by go generate
// in package kubemetrics.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/miniapiserver/miniapiserver/server/internal/kubemetrics"
)

func main() {
	page, err := document()
	if err == nil {
		err = os.WriteFile("../../../docs/metrics.md", []byte(page), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "metricdocs:", err)
		os.Exit(1)
	}
}

const introduction = `# Metrics

/metrics has kube-apiserver's metrics with the same names, types and labels, so that dashboards and alerts written for it work.
/metrics/slis has the results of the health checks: kubernetes_healthcheck and kubernetes_healthchecks_total. Both need the
permission to get the path, which the ClusterRole system:monitoring gives. [flags.md](flags.md) has the flags that disable metrics,
bound labels and show hidden metrics.

The tables are generated from server/internal/kubemetrics, and a test compares them with a running
server. The metrics of the process (process_*) and of the Go runtime (go_*) are those of the Prometheus library. Metrics without a
series are not shown: most appear with the first event that they count.

DELETE /metrics sets the counters, histograms and summaries with labels to zero, unless --profiling=false, for those who may delete
the path. Gauges show a present state and keep it. kube-apiserver's gauges with labels disappear until they change.

rest_client_* are the requests to webhooks, by the 200 hosts that were used last. The controllers of this server call it in process:
apiserver_selfrequest_total counts these requests. grpc_client_* are the requests to --etcd-servers and --etcd-servers-overrides; an
embedded etcd is called in process. Metrics of storage have a series for each resource, whatever its etcd;
apiserver_storage_size_bytes has one for each etcd.

apiserver_storage_objects is deprecated, but shown, because dashboards use it. apiserver_request_slo_duration_seconds is hidden.

Of priority and fairness, counters and histograms of a level or a schema stay when it is deleted, and go on when it is created again;
its gauges of seats end. The work of a list is estimated from the present number and size of objects; kube-apiserver's are
up to a minute old, so that fewer lists of new objects are wide (request_dispatch_no_accommodation_total).

The stage of apiserver_watch_events_dispatch_duration_seconds is always total: between the cache and a watch there is one queue, and no
other stage. apiextensions_openapi_* count documents when a client requests them.

With the gate NativeHistograms, the default, histograms of requests, storage, authentication and authorization have native buckets
beside the classic ones, in the protobuf format. Those of priority and fairness do not, although some of kube-apiserver's do.
`

// areas are the tables of the page, in order: a metric belongs to the first area whose prefix it has.
var areas = []struct{ title, prefixes string }{
	{"Priority and fairness", "apiserver_flowcontrol_"},
	{"Admission", "apiserver_admission_ apiserver_cel_ apiserver_validating_ apiserver_mutating_ pod_security_"},
	{"Audit", "apiserver_audit_"},
	{"Storage and caches", "apiserver_storage_ apiserver_resource_ apiserver_watch_cache_ apiserver_cache_ apiserver_init_ apiserver_terminated_ watch_cache_ etcd_ apiserver_envelope_ apiserver_encryption_"},
	{"Authentication and authorization",
		"authenticat authoriz apiserver_authenticat apiserver_authoriz apiserver_client_ apiserver_impersonation_ serviceaccount_ node_authorizer_"},
	{"Aggregation, webhooks and custom kinds",
		"aggregator_ apiserver_kube_aggregator_ apiserver_webhooks_ apiserver_conversion_ apiserver_crd_ apiextensions_ rest_client_ grpc_"},
	{"Controllers and services", "workqueue_ kube_apiserver_ apiserver_clusterip_ apiserver_nodeport_ informer_"},
	{"Requests and watches", "apiserver_ field_"},
	{"Metrics, version and features", ""},
}

func document() (string, error) {
	all, err := kubemetrics.Metrics()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(introduction)
	tables := make([][]kubemetrics.Metric, len(areas))
	var missing []kubemetrics.Metric
	for _, m := range all {
		if m.Missing != "" {
			missing = append(missing, m)
			continue
		}
		at := areaOf(m.Name)
		tables[at] = append(tables[at], m)
	}
	for i, table := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n| metric | type | stability | labels |\n|---|---|---|---|\n", areas[i].title)
		for _, m := range table {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, m.Stability, strings.ReplaceAll(m.Labels, ",", ", "))
		}
	}
	b.WriteString("\n## What is not there\n\n| metric | reason |\n|---|---|\n")
	for _, m := range missing {
		fmt.Fprintf(&b, "| `%s` | %s |\n", m.Name, m.Missing)
	}
	return b.String(), nil
}

func areaOf(name string) int {
	for i, area := range areas {
		for prefix := range strings.FieldsSeq(area.prefixes) {
			if strings.HasPrefix(name, prefix) {
				return i
			}
		}
	}
	return len(areas) - 1
}
