package ssa

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
)

// generator draws a part of an object.
type generator func(t *rapid.T) any

// object draws an object with some of the fields.
func object(fields map[string]generator) generator {
	return func(t *rapid.T) any {
		out := map[string]any{}
		for _, name := range keysOfDocs(fields) {
			if rapid.Bool().Draw(t, name) {
				out[name] = fields[name](t)
			}
		}
		return out
	}
}

func keysOfDocs(m map[string]generator) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if names[j] < names[i] {
				names[i], names[j] = names[j], names[i]
			}
		}
	}
	return names
}

func oneOf(values ...any) generator {
	return func(t *rapid.T) any { return rapid.SampledFrom(values).Draw(t, "value") }
}

// listOf draws some of the items in random order.
func listOf(items ...generator) generator {
	return func(t *rapid.T) any {
		out := []any{}
		for _, i := range rapid.Permutation(indexes(len(items))).Draw(t, "order") {
			if rapid.Bool().Draw(t, "item") {
				out = append(out, items[i](t))
			}
		}
		return out
	}
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// keyed draws an item with the key fields and some other fields.
func keyed(key map[string]any, fields map[string]generator) generator {
	return func(t *rapid.T) any {
		out := object(fields)(t).(map[string]any)
		for k, v := range key {
			out[k] = v
		}
		return out
	}
}

func strmap(names ...string) generator {
	fields := map[string]generator{}
	for _, n := range names {
		fields[n] = oneOf("1", "2")
	}
	return object(fields)
}

func metadata() generator {
	return func(t *rapid.T) any {
		out := object(map[string]generator{
			"labels":      strmap("a", "b", "app.kubernetes.io/name"),
			"annotations": strmap("a", "example.com/<x>&\"y\""),
			"finalizers":  listOf(oneOf("example.com/a"), oneOf("example.com/b"), oneOf("example.com/c")),
			"ownerReferences": listOf(
				keyed(map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}, map[string]generator{"controller": oneOf(true, false)}),
				keyed(map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "2"}, nil)),
		})(t).(map[string]any)
		out["name"] = "x"
		return out
	}
}

func container(name string) generator {
	return keyed(map[string]any{"name": name}, map[string]generator{
		"image":   oneOf("i:1", "i:2"),
		"args":    listOf(oneOf("a"), oneOf("b")),
		"command": listOf(oneOf("c")),
		"ports": listOf(
			keyed(map[string]any{"containerPort": 80.0}, map[string]generator{"name": oneOf("http"), "protocol": oneOf("TCP")}),
			keyed(map[string]any{"containerPort": 80.0, "protocol": "UDP"}, nil),
			keyed(map[string]any{"containerPort": 443.0, "protocol": "TCP"}, map[string]generator{"hostPort": oneOf(1.0, 2.0)})),
		"env": listOf(
			keyed(map[string]any{"name": "A"}, map[string]generator{"value": oneOf("1", "2")}),
			keyed(map[string]any{"name": "B"}, map[string]generator{"value": oneOf("1", "2")}),
			keyed(map[string]any{"name": "C"}, map[string]generator{"valueFrom": oneOf(map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}})})),
		"resources": object(map[string]generator{
			"limits":   object(map[string]generator{"cpu": oneOf("1", "1000m", 2.0), "memory": oneOf("1Gi")}),
			"requests": object(map[string]generator{"cpu": oneOf("100m", "0.1")})}),
		"livenessProbe": object(map[string]generator{"httpGet": object(map[string]generator{"port": oneOf(80.0, "http"), "path": oneOf("/")}), "periodSeconds": oneOf(3.0, 10.0)}),
		"volumeMounts": listOf(
			keyed(map[string]any{"mountPath": "/a"}, map[string]generator{"name": oneOf("v")}),
			keyed(map[string]any{"mountPath": "/b"}, map[string]generator{"name": oneOf("v"), "readOnly": oneOf(true, false)})),
	})
}

func podSpec() generator {
	return object(map[string]generator{
		"containers":                    listOf(container("x"), container("y")),
		"restartPolicy":                 oneOf("Always", "Never"),
		"nodeSelector":                  strmap("a", "b"),
		"tolerations":                   listOf(keyed(map[string]any{"key": "k"}, map[string]generator{"effect": oneOf("NoExecute")})),
		"securityContext":               object(map[string]generator{"runAsUser": oneOf(1.0, 2.0)}),
		"terminationGracePeriodSeconds": oneOf(1.0, 30.0),
		"volumes": listOf(
			keyed(map[string]any{"name": "v"}, map[string]generator{"emptyDir": oneOf(map[string]any{})}),
			keyed(map[string]any{"name": "w"}, map[string]generator{"configMap": object(map[string]generator{"name": oneOf("c")})})),
	})
}

func condition(kind string) generator {
	return keyed(map[string]any{"type": kind}, map[string]generator{"status": oneOf("True", "False"), "lastTransitionTime": oneOf("2001-01-01T00:00:00Z", nil)})
}

// histories are the tested kinds with generators of their fields.
var histories = map[string]map[string]generator{
	"configmaps": {"data": strmap("a", "b", "c.yaml"), "binaryData": object(map[string]generator{"x": oneOf("AQ==")}), "immutable": oneOf(false)},
	"secrets":    {"data": object(map[string]generator{"x": oneOf("AQ==", "Ag=="), "y": oneOf("AQ==")}), "stringData": strmap("z"), "type": oneOf("Opaque")},
	"services": {"spec": object(map[string]generator{
		"type": oneOf("ClusterIP", "NodePort"), "selector": strmap("a", "b"),
		"ports": listOf(
			keyed(map[string]any{"port": 80.0}, map[string]generator{"name": oneOf("a"), "targetPort": oneOf(80.0, "http")}),
			keyed(map[string]any{"port": 80.0, "protocol": "UDP"}, map[string]generator{"name": oneOf("b")}))}),
		"status": object(map[string]generator{"conditions": listOf(condition("A"), condition("B"))})},
	"pods": {"spec": podSpec(), "status": object(map[string]generator{"phase": oneOf("Running"), "conditions": listOf(condition("Ready"))})},
	"deployments": {"spec": object(map[string]generator{
		"replicas": oneOf(1.0, 2.0, nil), "selector": object(map[string]generator{"matchLabels": strmap("a", "b")}),
		"template": object(map[string]generator{"metadata": object(map[string]generator{"labels": strmap("a", "b")}), "spec": podSpec()}),
		"strategy": object(map[string]generator{"type": oneOf("Recreate")})}),
		"status": object(map[string]generator{"replicas": oneOf(1.0, 2.0), "conditions": listOf(condition("A"), condition("B"))})},
	"horizontalpodautoscalers": {"spec": object(map[string]generator{
		"minReplicas": oneOf(1.0, 2.0), "maxReplicas": oneOf(3.0, 4.0),
		"scaleTargetRef": object(map[string]generator{"name": oneOf("a", "b"), "kind": oneOf("Deployment")})})},
}

var managerNames = []string{"m1", "m2", "m3", "kubectl", "", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", ancientChanges}

func (b *both) draw(t *rapid.T, fields map[string]generator, version *api.Version) map[string]any {
	out := object(fields)(t).(map[string]any)
	out["metadata"] = metadata()(t)
	out["apiVersion"], out["kind"] = version.String(), b.o.res.Kind
	return out
}

// step performs one random write.
func (b *both) step(t *rapid.T, looks func(*api.Version) map[string]generator) {
	res := b.o.res
	version := &res.Versions[rapid.IntRange(0, len(res.Versions)-1).Draw(t, "version")]
	w := Write{
		Version: version,
		Manager: rapid.SampledFrom(b.managers).Draw(t, "manager"),
		Force:   rapid.Bool().Draw(t, "force"),
	}
	if subresources := writable(res); rapid.IntRange(0, 4).Draw(t, "part") == 0 && len(subresources) > 0 {
		w.Subresource = rapid.SampledFrom(subresources).Draw(t, "subresource")
	}
	if seed := rapid.Uint64Range(0, 3).Draw(t, "order"); seed > 0 {
		w.Shuffle = shuffleOf(seed)
	}
	fields := looks(version)
	patch := b.draw(t, fields, version)
	if rapid.Bool().Draw(t, "apply") {
		b.apply(t, patch, w)
		return
	}
	obj := b.patched(t, version, patch)
	if rapid.IntRange(0, 5).Draw(t, "meddle") == 0 {
		obj.SetManagedFields(clientManagedFields(t, obj.GetManagedFields(), version.String()))
	}
	if rapid.IntRange(0, 5).Draw(t, "last-applied") == 0 {
		text, err := json.Marshal(b.draw(t, fields, version))
		if err != nil {
			t.Fatal(err)
		}
		obj.SetAnnotations(map[string]string{lastAppliedAnnotation: string(text)})
	}
	b.update(t, obj, w)
}

// writable are the subresources by which an object is written.
func writable(res *api.Resource) []string {
	var out []string
	if res.Status != nil {
		out = append(out, "status")
	}
	for _, s := range res.Subresources {
		if f, ok := s.(*api.Field); ok {
			out = append(out, f.Name)
		}
	}
	return out
}

// clientManagedFields draws managedFields that a client may send.
func clientManagedFields(t *rapid.T, entries []metav1.ManagedFieldsEntry, version string) []metav1.ManagedFieldsEntry {
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		return []metav1.ManagedFieldsEntry{}
	case 1:
		return []metav1.ManagedFieldsEntry{{}}
	case 2:
		return nil
	case 3:
		if len(entries) > 0 {
			return entries[1:]
		}
	}
	entry := metav1.ManagedFieldsEntry{
		Manager:    rapid.SampledFrom([]string{"m1", "other", ancientChanges}).Draw(t, "manager"),
		Operation:  rapid.SampledFrom([]metav1.ManagedFieldsOperationType{"Apply", "Update", "Other"}).Draw(t, "operation"),
		APIVersion: rapid.SampledFrom([]string{version, version, version, "", "v9"}).Draw(t, "apiVersion"),
		FieldsType: rapid.SampledFrom([]string{fieldsV1, fieldsV1, fieldsV1, fieldsV1, "", "FieldsV2"}).Draw(t, "fieldsType"),
	}
	if text := rapid.SampledFrom(clientFields).Draw(t, "fieldsV1"); text != "" {
		entry.FieldsV1 = metav1.NewFieldsV1(text)
	}
	return append(append([]metav1.ManagedFieldsEntry{}, entries...), entry)
}

// clientFields are fieldsV1 that no server would write.
var clientFields = []string{
	``, `{}`, `{`, `[]`, `null`, `{"f:data":{}}`, `{"f:data":null}`, `{"f:data":1}`, `{"f:data":{},"x":{}}`, `{"f:data":{},"z:x":{}}`,
	`{"f:metadata":{"f:labels":{"f:b":{},"f:a":{}}},"f:data":{"f:a":{},".":{}}}`,
	`{"f:metadata" : {"f:name":{},"f:labels":{".":{}, "f:a":{}}}}`,
	`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"1\"}":{"f:controller":{}},"k:{ \"uid\":\"2\"}":{}}}}`,
	`{"f:spec":{"f:ports":{"k:{\"protocol\":\"TCP\",\"port\":80}":{".":{},"f:name":{}},"k:{\"port\":80.0,\"protocol\":\"UDP\"}":{}}}}`,
	`{"f:spec":{"f:selector":{"f:matchLabels":{"f:a":{}}},"f:tolerations":{"i:0":{}},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{"f:args":{"v:\"a\"":{}},"f:image":{}}}}}}}`,
	`{"f:metadata":{"f:finalizers":{"v:\"example.com/a\"":{},"v: \"example.com/b\"":{},"v:1":{}}}}`,
	`{"f:metadata":{"f:annotations":{"f:example.com/<x>\u0026\"y\"":{}}}}`, `{"f:\u006detadata":{"f:labels":{"f:a":{}}}}`,
	`{"f:unknown":{"f:x":{}}}`, `{"f:data":{"f:a":{}}} x`,
}

// patched returns the live object after a merge patch or, sometimes, only the patch.
func (b *both) patched(t *rapid.T, version *api.Version, patch map[string]any) api.Object {
	res := b.o.res
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	var base []byte
	if b.live != nil && rapid.IntRange(0, 3).Draw(t, "replace") != 0 {
		live, err := res.As(version, b.live)
		if err != nil {
			t.Fatal(err)
		}
		if base, err = json.Marshal(live); err != nil {
			t.Fatal(err)
		}
		if text, err = jsonpatch.MergePatch(base, text); err != nil {
			t.Fatal(err)
		}
	}
	obj := res.NewOf(version)
	if err := json.Unmarshal(text, obj); err != nil {
		t.Fatal(err)
	}
	if _, ok := obj.(*untyped.Object); !ok {
		obj.GetObjectKind().SetGroupVersionKind(version.WithKind(""))
		if base == nil {
			obj.SetManagedFields(nil)
		}
	}
	hub, err := res.Decoded(version, obj)
	if err != nil {
		t.Fatal(err)
	}
	return hub
}

func TestHistories(t *testing.T) {
	converter, schemas := builtIn()
	for name, fields := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := resource(t, name)
			resets := ResetsOf(res)
			m := New(res, schemas, resets)
			rapid.Check(t, func(rt *rapid.T) {
				b := newBoth(res, converter, schemas, resets)
				b.m, b.managers = m, managerNames[:rapid.SampledFrom([]int{5, 5, len(managerNames)}).Draw(rt, "managers")]
				for range rapid.IntRange(1, 8+len(b.managers)).Draw(rt, "steps") {
					b.step(rt, func(*api.Version) map[string]generator { return fields })
				}
			})
		})
	}
}

// TestApplyEmptyAgain applies an empty status again, which by now contains an item whose key nobody
// owns.
func TestApplyEmptyAgain(t *testing.T) {
	converter, schemas := builtIn()
	res := resource(t, "services")
	b := newBoth(res, converter, schemas, ResetsOf(res))
	w := Write{Version: &res.Versions[0], Manager: "m1"}
	service := func(status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "x"}, "status": status}
	}
	conditions := func(fields ...string) map[string]any {
		item := map[string]any{"type": "B"}
		for _, f := range fields {
			item[f] = "True"
		}
		return map[string]any{"conditions": []any{item}}
	}
	status := w
	status.Subresource = "status"
	b.apply(t, service(map[string]any{}), status)
	b.apply(t, service(conditions("status")), w)
	obj := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Status: corev1.ServiceStatus{Conditions: []metav1.Condition{{Type: "B"}}}}
	res.Default(obj)
	b.update(t, obj, status)
	b.apply(t, service(map[string]any{}), status)
}
