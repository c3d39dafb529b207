package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// activity is a loop of the load.
type activity struct {
	name string
	// once runs one round, which leaves nothing behind. n is the number of the round.
	once func(ctx context.Context, n int64) error
	c    *client
	// rounds numbers the rounds of the loops that share their objects' names.
	rounds *atomic.Int64
}

// loop runs rounds until ctx is done.
func (a *activity) loop(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.once(ctx, a.rounds.Add(1))
		a.c.fail(ctx, a.name, err)
		a.c.record(ctx, a.name, err)
	}
}

// template is an object of a kind, which is created under other names.
type template struct {
	collection string // path without namespace
	object     object
	namespaced bool
}

// path returns the path of an object, or of the collection if name is empty.
func (t *template) path(namespace, name string) string {
	path := t.collection
	if t.namespaced {
		at := strings.LastIndexByte(path, '/')
		path = path[:at] + "/namespaces/" + namespace + path[at:]
	}
	if name != "" {
		path += "/" + name
	}
	return path
}

// notChurned are the kinds whose templates would change how other requests are served, which
// other activities create instead, or whose names cannot be chosen.
var notChurned = []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "customresourcedefinitions", "apiservices", "ipaddresses",
	"servicecidrs", "namespaces", "refs", "mutatingadmissionpolicies", "validatingadmissionpolicies", "resourcequotas", "limitranges"}

// readTemplates reads the first object of each list that is not one of every cluster.
func readTemplates(file string) ([]*template, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var lists map[string]struct {
		Kind  string   `json:"kind"`
		Items []object `json:"items"`
	}
	if err := json.NewDecoder(z).Decode(&lists); err != nil {
		return nil, err
	}
	var out []*template
	for path, list := range lists {
		resource := path[strings.LastIndexByte(path, '/')+1:]
		if len(list.Items) == 0 || strings.Contains(" "+strings.Join(notChurned, " ")+" ", " "+resource+" ") {
			continue
		}
		item := list.Items[len(list.Items)-1]
		for _, other := range list.Items {
			if name, _ := other["metadata"].(object)["name"].(string); name == "ref" || name == "etcd-refc" {
				item = other
			}
		}
		meta := item["metadata"].(object)
		_, namespaced := meta["namespace"]
		version := strings.TrimPrefix(strings.TrimPrefix(path[:strings.LastIndexByte(path, '/')], "/apis/"), "/api/")
		item["apiVersion"], item["kind"] = version, strings.TrimSuffix(list.Kind, "List")
		delete(item, "status")
		item["metadata"] = object{"labels": meta["labels"], "annotations": meta["annotations"]}
		dropAssigned(resource, item)
		out = append(out, &template{collection: path, object: item, namespaced: namespaced})
	}
	return out, nil
}

// dropAssigned removes the fields of an object that the server assigned, adapts the fields
// that depend on its namespace, and adds the fields that new objects must have, but not those
// that etcd has from older versions.
func dropAssigned(resource string, item object) {
	spec, ok := item["spec"].(object)
	// An event is in the namespace of its object.
	for _, field := range []string{"involvedObject", "regarding"} {
		if regarded, ok := item[field].(object); ok && resource == "events" {
			regarded["namespace"] = namespace
		}
	}
	if item["apiVersion"] == "events.k8s.io/v1" {
		maps.Copy(item, object{"eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "Soaked", "action": "Soak",
			"reportingController": "soak.example.com/soak", "reportingInstance": "soak-0"})
	}
	switch {
	case !ok:
	case resource == "services":
		for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			delete(spec, field)
		}
		spec["ports"] = []object{{"port": 80}}
	case resource == "jobs":
		delete(spec, "selector")
		delete(spec["template"].(object), "metadata")
	}
}

// namespace is that of the churned objects.
const namespace = "soak"

// activities returns all loops of the load.
func activities(c *client, templates []*template, workers int) []*activity {
	var list []*activity
	add := func(name string, loops int, once func(context.Context, int64) error) {
		rounds := &atomic.Int64{}
		for range loops {
			list = append(list, &activity{name, once, c, rounds})
		}
	}
	add("kinds", workers, func(ctx context.Context, n int64) error { return c.churn(ctx, templates[n%int64(len(templates))], n) })
	add("watches", 2, func(ctx context.Context, n int64) error { return c.watch(ctx, templates[rand.IntN(len(templates))]) })
	add("custom kinds", 1, c.customKind)
	add("webhooks", 1, c.webhook)
	add("namespaces", 1, c.namespace)
	add("tokens", 1, c.tokens)
	return list
}

// pause waits, so that an activity does not take all of the processor time.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// clone returns a deep copy of an object with a name.
func clone(o object, name string) (object, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	out["metadata"].(object)["name"] = name
	return out, nil
}

// churn creates, reads, patches, lists and deletes an object.
func (c *client) churn(ctx context.Context, t *template, n int64) error {
	err := c.do(ctx, http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": namespace}}, nil)
	if err != nil && codeOf(err) != http.StatusConflict {
		return err
	}
	name := fmt.Sprint("soak-", n)
	o, err := clone(t.object, name)
	if err != nil {
		return err
	}
	err = c.do(ctx, http.MethodPost, t.path(namespace, ""), o, nil)
	c.record(ctx, "creating in "+t.collection, err)
	if err != nil {
		return fmt.Errorf("%s: %w", t.collection, err)
	}
	path := t.path(namespace, name)
	for _, step := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, path, nil},
		{http.MethodPatch, path, object{"metadata": object{"labels": object{"soak": fmt.Sprint("n", n)}}}},
		{http.MethodGet, t.path(namespace, "") + "?limit=50", nil},
		{http.MethodDelete, path, object{"gracePeriodSeconds": 0}},
	} {
		if err := c.do(ctx, step.method, step.path, step.body, nil); err != nil && codeOf(err) != http.StatusNotFound {
			return fmt.Errorf("%s %s: %w", step.method, t.collection, err)
		}
	}
	return nil
}

// watch watches a collection for a moment, and then ends the watch or lets the server end it.
func (c *client) watch(ctx context.Context, t *template) error {
	watched, end := context.WithTimeout(ctx, time.Duration(100+rand.IntN(2000))*time.Millisecond)
	defer end()
	body, err := c.open(watched, http.MethodGet, fmt.Sprintf("%s?watch=true&timeoutSeconds=%d&allowWatchBookmarks=true", t.collection, 1+rand.IntN(2)), "", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	_, _ = io.Copy(io.Discard, bufio.NewReader(body)) // the end of the watch
	return nil
}

// customKind installs a definition, creates an object of its kind and removes both.
func (c *client) customKind(ctx context.Context, n int64) error {
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	group := fmt.Sprintf("g%d.soak.example.com", n%5)
	name := "widgets." + group
	err := c.do(ctx, http.MethodPost, definitions, object{"metadata": object{"name": name}, "spec": object{"group": group, "scope": "Namespaced",
		"names": object{"plural": "widgets", "kind": "Widget"}, "versions": []object{{"name": "v1", "served": true, "storage": true,
			"schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{"spec": object{"type": "object", "properties": object{
				"n": object{"type": "integer", "x-kubernetes-validations": []object{{"rule": "self >= 0"}}}}}}}}}}}}, nil)
	if err != nil && codeOf(err) != http.StatusConflict {
		return err
	}
	widgets := "/apis/" + group + "/v1/namespaces/default/widgets"
	for ctx.Err() == nil {
		err := c.do(ctx, http.MethodPost, widgets, object{"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"generateName": "w-"}, "spec": object{"n": n}}, nil)
		if err == nil {
			break
		}
		if codeOf(err) != http.StatusNotFound {
			return err
		}
		pause(ctx, 20*time.Millisecond) // until the kind is served
	}
	_ = c.do(ctx, http.MethodGet, "/openapi/v3/apis/"+group+"/v1", nil, nil) // may not be published yet
	if err := c.do(ctx, http.MethodDelete, definitions+"/"+name, nil, nil); err != nil {
		return err
	}
	for ctx.Err() == nil && codeOf(c.do(ctx, http.MethodGet, definitions+"/"+name, nil, nil)) != http.StatusNotFound {
		pause(ctx, 20*time.Millisecond)
	}
	pause(ctx, 100*time.Millisecond)
	return nil
}

// webhook serves a validating webhook, configures it, writes through it and removes it.
func (c *client) webhook(ctx context.Context, n int64) error {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Request    struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"apiVersion": review.APIVersion, "kind": review.Kind, "response": object{"uid": review.Request.UID, "allowed": true}})
	}))
	defer server.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	name := fmt.Sprint("soak-hook-", n)
	const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	err := c.do(ctx, http.MethodPost, configurations, object{"metadata": object{"name": name}, "webhooks": []object{{
		"name": "hook.soak.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"}, "failurePolicy": "Ignore",
		"clientConfig":   object{"url": server.URL, "caBundle": ca},
		"objectSelector": object{"matchLabels": object{"hooked": "yes"}},
		"rules":          []object{{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"*"}, "resources": []string{"configmaps"}}},
	}}}, nil)
	if err != nil {
		return err
	}
	for i := range 10 {
		path := "/api/v1/namespaces/default/configmaps"
		cm := fmt.Sprint("hooked-", n, "-", i)
		if err = c.do(ctx, http.MethodPost, path, object{"metadata": object{"name": cm, "labels": object{"hooked": "yes"}}}, nil); err == nil {
			err = c.do(ctx, http.MethodDelete, path+"/"+cm, nil, nil)
		}
		if err != nil {
			break
		}
		pause(ctx, 20*time.Millisecond)
	}
	if gone := c.do(ctx, http.MethodDelete, configurations+"/"+name, nil, nil); err == nil {
		err = gone
	}
	return err
}

// namespace creates a namespace with objects and deletes it.
func (c *client) namespace(ctx context.Context, n int64) error {
	name := fmt.Sprint("soak-ns-", n)
	if err := c.do(ctx, http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": name}}, nil); err != nil {
		return err
	}
	for i := range 5 {
		owner := object{"metadata": object{"name": fmt.Sprint("o", i)}, "data": object{"k": strings.Repeat("x", 500)}}
		if err := c.do(ctx, http.MethodPost, "/api/v1/namespaces/"+name+"/configmaps", owner, nil); err != nil {
			return err
		}
	}
	if err := c.do(ctx, http.MethodDelete, "/api/v1/namespaces/"+name, nil, nil); err != nil {
		return err
	}
	for ctx.Err() == nil && codeOf(c.do(ctx, http.MethodGet, "/api/v1/namespaces/"+name, nil, nil)) != http.StatusNotFound {
		pause(ctx, 50*time.Millisecond)
	}
	return nil
}

// tokens requests a token and reviews it, and a token that nobody issued.
func (c *client) tokens(ctx context.Context, n int64) error {
	var request struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := c.do(ctx, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts/default/token", object{"spec": object{}}, &request); err != nil {
		return err
	}
	for _, token := range []string{request.Status.Token, fmt.Sprint("nobody-", n)} {
		if err := c.do(ctx, http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", object{"spec": object{"token": token}}, nil); err != nil {
			return err
		}
	}
	pause(ctx, 50*time.Millisecond)
	return nil
}
