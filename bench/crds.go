package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// definitionsPath is the path of CustomResourceDefinitions.
const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// measureCRDs creates definitions of custom kinds and waits until all are established. Its
// operations are definitions; its latencies are from a request to the watch event with the
// condition Established. For the floor, answer is the size of a response.
func measureCRDs(ctx context.Context, s *settings, t *target, answer int64) (*result, error) {
	before, err := t.RSS()
	if err != nil {
		return nil, err
	}
	e := &establishment{at: make([]time.Time, s.crds), done: make(chan error, 1)}
	if answer == 0 {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body, err := t.open(ctx, request{method: http.MethodGet, path: definitionsPath + "?" + watchQuery, accept: mediaJSON})
		if err != nil {
			return nil, err
		}
		defer body.Close()
		go func() { e.done <- e.read(bufio.NewReaderSize(body, 1<<20)) }()
	} else {
		e.done <- nil
	}
	sent := make([]time.Time, s.crds)
	var waited time.Duration
	r, err := measure(t, s.crds, s.workers, func(i int) (answers, bytes int64, err error) {
		sent[i] = time.Now()
		a, err := t.send(ctx, request{method: http.MethodPost, path: definitionsPath, contentType: mediaJSON, body: crdJSON(i), answer: answer})
		if err == nil && answer == 0 && i == s.crds-1 {
			began := time.Now()
			err = e.wait(ctx)
			waited = time.Since(began)
		}
		return 1, a.bytes, err
	})
	if err != nil || answer > 0 {
		return r, err
	}
	fmt.Printf("%d definitions: all established %.1f s after the first request (%.1f s after the last)", s.crds, r.took.Seconds(), waited.Seconds())
	select { // measure the memory of the idle server
	case <-time.After(settleTime):
	case <-ctx.Done():
	}
	if r.rss, err = t.RSS(); err == nil {
		fmt.Printf(", %d MB more memory after %v\n", (r.rss-before)>>20, settleTime)
	}
	return r, err
}

// settleTime is the time after which memory is measured, so that the server can return freed
// memory.
const settleTime = 10 * time.Second

// establishment watches definitions and records when each is established.
type establishment struct {
	at   []time.Time
	done chan error
}

func (e *establishment) wait(ctx context.Context) error {
	select {
	case err := <-e.done:
		return err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("some definitions were not established within two minutes")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read reads events until all definitions are established.
func (e *establishment) read(body *bufio.Reader) error {
	for left := len(e.at); left > 0; {
		line, err := body.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		if !bytes.Contains(line, []byte(`"type":"Established"`)) {
			continue
		}
		var event struct {
			Object struct {
				Metadata struct{ Name string }
				Status   struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return err
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(event.Object.Metadata.Name, "kinds"), ".")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(e.at) {
			continue // a definition of an earlier run
		}
		for _, c := range event.Object.Status.Conditions {
			if c.Type == "Established" && c.Status == "True" && e.at[i].IsZero() {
				e.at[i] = time.Now()
				left--
			}
		}
	}
	return nil
}

// crdGroup returns the group of the i-th definition; ten definitions share one.
func crdGroup(i int) string { return fmt.Sprintf("g%d.bench.example.com", i/10) }

// customPath returns the path of the objects of the i-th definition.
func customPath(i int) string {
	return fmt.Sprintf("/apis/%s/v1/namespaces/%s/kinds%d", crdGroup(i), namespace, i)
}

// crdJSON returns the i-th definition, of ordinary size: some sixty fields with descriptions.
func crdJSON(i int) []byte {
	text := func(name string) string {
		return fmt.Sprintf(`{"type":"string","description":"The %s of what is wanted, which is chosen by who asks for it. `+
			`More information is where it is always found. It cannot be changed afterwards unless it was empty.","maxLength":253}`, name)
	}
	number := func(name string) string {
		return fmt.Sprintf(`{"type":"integer","format":"int32","minimum":0,"description":"How many %s there are to be. Defaults to one."}`, name)
	}
	fields := func(more map[string]string, names ...string) string {
		var out strings.Builder
		out.WriteByte('{')
		for n, name := range names {
			schema := text(name)
			if n%3 == 2 {
				schema = number(name)
			}
			if s, ok := more[name]; ok {
				schema = s
			}
			if n > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(&out, "%q:%s", name, schema)
		}
		out.WriteByte('}')
		return out.String()
	}
	object := func(fields string) string {
		return `{"type":"object","description":"A part of what is wanted, with its own fields.","properties":` + fields + `}`
	}
	list := func(fields string) string {
		return `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":` + fields + `}}`
	}
	template := object(fields(nil, "image", "command", "replicas", "class", "user", "port", "path", "zone", "weight"))
	spec := object(fields(map[string]string{
		"template": template, "storage": object(fields(nil, "size", "class", "copies", "mode", "name", "count")),
		"mode":   `{"type":"string","enum":["Fast","Safe"],"default":"Safe","description":"How it is done."}`,
		"labels": `{"type":"object","additionalProperties":{"type":"string"}}`,
		"ports":  list(fields(nil, "name", "protocol", "port", "host", "path", "timeout")),
		"env":    list(fields(nil, "name", "value", "order")),
		"any":    `{"type":"object","x-kubernetes-preserve-unknown-fields":true}`,
		"target": `{"x-kubernetes-int-or-string":true}`,
	}, "title", "owner", "replicas", "mode", "class", "retries", "region", "version", "limit", "note", "template", "storage",
		"labels", "ports", "env", "any", "target", "schedule", "policy", "priority"))
	status := object(fields(map[string]string{
		"conditions": list(fields(nil, "name", "type", "observedGeneration", "status", "reason", "times", "message", "lastTransitionTime")),
	}, "phase", "reason", "ready", "message", "address", "observed", "conditions"))
	return fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"kinds%d.%s"},`+
		`"spec":{"group":%q,"scope":"Namespaced","names":{"plural":"kinds%d","singular":"kind%d","kind":"Kind%d","listKind":"Kind%dList"},`+
		`"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},`+
		`"additionalPrinterColumns":[{"name":"Phase","type":"string","jsonPath":".status.phase"}],`+
		`"schema":{"openAPIV3Schema":{"type":"object","description":"A kind that arrived at run time.","properties":{"spec":%s,"status":%s}}}}]}}`,
		i, crdGroup(i), crdGroup(i), i, i, i, i, spec, status)
}

// customObject returns the i-th object of the first custom kind, of about 1 KB.
func customObject(i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Kind0","metadata":{"name":"cr-%06d","labels":{"app":"bench","shard":"s%d"},"annotations":{"bench/value":""}},`+
		`"spec":{"title":"number %d","owner":"bench","replicas":3,"class":"ordinary","region":"north","note":%q,`+
		`"template":{"image":"registry.example/app:v%d","command":"run","replicas":2},"ports":[{"name":"http","port":8080},{"name":"metrics","port":9090}],`+
		`"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"labels":{"a":"b"},"target":"http","any":{"more":"%s"}}}`, crdGroup(0), i, i%100, i, padding[:250], i%10, padding[:250])
}
