package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
)

// Media types.
const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
	mediaMerge    = "application/merge-patch+json"
	mediaApply    = "application/apply-patch+yaml"
)

// workload is a number of similar requests.
type workload struct {
	name    string
	about   string // describes an operation in the table
	ops     func(*settings) int
	workers func(*settings) int
	request func(s *settings, i int) request
	// pages requests the remaining pages of a list by its continue token.
	pages bool
	// own measures workloads that are not independent requests: fanout.go, crds.go. For the floor,
	// answer is the size of a response.
	own func(ctx context.Context, s *settings, t *target, answer int64) (*result, error)
}

// objects and the functions below return numbers of operations and of workers.
func objects(s *settings) int   { return s.objects }
func singles(s *settings) int   { return s.ops }
func deletes(s *settings) int   { return min(s.ops, s.objects) }
func lists(s *settings) int     { return s.lists }
func selectors(s *settings) int { return 20 * s.lists }
func many(s *settings) int      { return s.workers }
func one(*settings) int         { return 1 }

// workloads are all workloads in the order in which they run.
var workloads = []workload{
	{name: "create", about: "a ConfigMap of 1 KB", ops: objects, workers: many, request: func(_ *settings, i int) request {
		return request{method: http.MethodPost, path: configMaps, contentType: mediaJSON, body: configMap(i, "")}
	}},
	{name: "createpod", about: "a Pod", ops: objects, workers: many, request: func(_ *settings, i int) request {
		return request{method: http.MethodPost, path: pods, contentType: mediaJSON, body: pod(i)}
	}},
	{name: "get", about: "a ConfigMap", ops: singles, workers: many, request: func(s *settings, i int) request {
		const stride = 7919 // a prime, so that successive requests are not neighbours in the tree
		return request{method: http.MethodGet, path: configMapPath(i * stride % s.objects), accept: mediaJSON}
	}},
	list("list", "all ConfigMaps", configMaps, mediaJSON, ""),
	{name: "listpage", about: "all ConfigMaps by 500", ops: lists, workers: one, pages: true, request: func(*settings, int) request {
		return request{method: http.MethodGet, path: configMaps + "?limit=500", accept: mediaJSON}
	}},
	list("listproto", "the same as protobuf", configMaps, mediaProtobuf, ""),
	list("listgzip", "the same compressed", configMaps, mediaJSON, "gzip"),
	{name: "listlabel", about: "one in 100 by label", ops: selectors, workers: one, request: func(*settings, int) request {
		return request{method: http.MethodGet, path: configMaps + "?labelSelector=shard%3Ds7", accept: mediaJSON}
	}},
	list("listpod", "all Pods", pods, mediaJSON, ""),
	{name: "update", about: "a ConfigMap", ops: singles, workers: many, request: func(s *settings, i int) request {
		n := i % s.objects
		return request{method: http.MethodPut, path: configMapPath(n), contentType: mediaJSON, body: configMap(n, strconv.Itoa(i))}
	}},
	{name: "patch", about: "a merge patch", ops: singles, workers: many, request: func(s *settings, i int) request {
		return mergePatch(i%s.objects, strconv.Itoa(i))
	}},
	{name: "apply", about: "a field by one manager", ops: singles, workers: many, request: func(s *settings, i int) request {
		n := i % s.objects
		return request{method: http.MethodPatch, path: configMapPath(n) + "?fieldManager=bench&force=true", contentType: mediaApply,
			body: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm-%06d"},"data":{"applied":"a%d"}}`, n, i)}
	}},
	{name: "fanout", about: "an event to a watch", own: measureFanout},
	{name: "delete", about: "a ConfigMap", ops: deletes, workers: many, request: func(_ *settings, i int) request {
		return request{method: http.MethodDelete, path: configMapPath(i)}
	}},
	{name: "crds", about: "a definition", own: measureCRDs},
	{name: "createcr", about: "a custom object of 1 KB", ops: objects, workers: many, request: func(_ *settings, i int) request {
		return request{method: http.MethodPost, path: customPath(0), contentType: mediaJSON, body: customObject(i)}
	}},
	{name: "getcr", about: "a custom object", ops: singles, workers: many, request: func(s *settings, i int) request {
		return request{method: http.MethodGet, path: customPath(0) + fmt.Sprintf("/cr-%06d", i%s.objects), accept: mediaJSON}
	}},
	list("listcr", "all custom objects", customPath(0), mediaJSON, ""),
	{name: "patchcr", about: "a custom object", ops: singles, workers: many, request: func(s *settings, i int) request {
		n := i % s.objects
		return request{method: http.MethodPatch, path: customPath(0) + fmt.Sprintf("/cr-%06d", n), contentType: mediaMerge,
			body: fmt.Appendf(nil, `{"spec":{"owner":"owner-%d"}}`, i)}
	}},
}

func list(name, about, path, accept, encoding string) workload {
	return workload{name: name, about: about, ops: lists, workers: one, request: func(*settings, int) request {
		return request{method: http.MethodGet, path: path, accept: accept, encoding: encoding}
	}}
}

func mergePatch(i int, value string) request {
	return request{method: http.MethodPatch, path: configMapPath(i), contentType: mediaMerge,
		body: fmt.Appendf(nil, `{"data":{"other":%q}}`, value)}
}

// workloadNames returns the names of all workloads.
func workloadNames() []string {
	out := make([]string, len(workloads))
	for i := range workloads {
		out[i] = workloads[i].name
	}
	return out
}
