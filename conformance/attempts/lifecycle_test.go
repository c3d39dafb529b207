package attempts

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestLifecycle stores valid objects with many fields. Each comes back as it was sent but for defaults,
// and survives an update without a change, an apply, and an update in each other version.
func TestLifecycle(t *testing.T) {
	c := startServer(t)
	fields := 1 + share(t)/2
	all := c.kinds()
	for _, k := range all {
		if !slices.Contains(k.Verbs, "update") {
			continue
		}
		t.Run(k.String(), func(t *testing.T) {
			c := &client{t, c.url, c.token, c.http}
			random := seeded(k.String())
			possible := slices.DeleteFunc(k.fields(), func(f Field) bool {
				return f.Path[0] == "metadata" || k.Kind == "Job" && f.Name() == "selector" || // which the server sets
					f.Path[0] == "status" && k.hasStatus || len(f.Path) == 1 && f.Schema.Type == "object"
			})
			random.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
			for len(possible) > 0 && fields > 0 {
				n := min(12, len(possible))
				c.live(k, all, c.build(k, possible[:n]))
				possible = possible[n:]
				if fields--; fields == 0 && share(t) < 100 {
					return
				}
				fields = max(fields, share(t)/100)
			}
		})
	}
}

// build returns the valid object of a kind with those of the fields that the server accepts.
func (c *client) build(k *kind, fields []Field) map[string]any {
	c.t.Helper()
	object := k.base
	for _, f := range fields {
		with := f.Set(object, f.Valid()[0])
		switch a := c.do(http.MethodPost, k.path+"?dryRun=All", jsonType, with); {
		case a.ok():
			object = with
		case a.code >= 500:
			c.t.Errorf("%s %s: %d %s", k, f, a.code, a.status.Message)
		}
	}
	return object
}

// live stores the object, writes it in all ways that change nothing, and deletes it.
//
// An update stores the labels that a Job without labels got when it was read: those of its template,
// which the server sets when the Job is created.
func (c *client) live(k *kind, all []*kind, sent map[string]any) {
	c.t.Helper()
	created := c.do(http.MethodPost, k.path, jsonType, sent)
	if created.code != http.StatusCreated {
		c.t.Fatalf("%s: %d %s in %v", k, created.code, created.status.Message, sent)
	}
	path := k.on(sent)
	defer func() {
		c.do(http.MethodDelete, path+"?gracePeriodSeconds=0", jsonType, nil)
		if a := c.do(http.MethodGet, path, jsonType, nil); a.ok() { // a finalizer
			metadataOf(a.object)["finalizers"] = nil
			delete(a.object, "resourceVersion")
			c.do(http.MethodPut, path, jsonType, a.object)
		}
	}()
	lost := difference(sent, created.object, "", true)
	for _, text := range lost {
		if !slices.Contains(changed, k.Kind+" "+plain(strings.Fields(text)[0])) {
			c.t.Errorf("%s: created: %s", k, text)
		}
	}
	same := func(step, path string, a answer, isUnchanged bool) {
		c.t.Helper()
		if !a.ok() {
			c.t.Errorf("%s: %s %s: %d %s\n%v", k, step, path, a.code, a.status.Message, sent)
			return
		}
		if isUnchanged && len(lost) == 0 && !k.hasController() && metadataOf(a.object)["resourceVersion"] != metadataOf(created.object)["resourceVersion"] {
			c.t.Errorf("%s: %s changed the stored object\n%v\nmanagedFields before %v\nafter %v", k, step, sent, metadataOf(created.object)["managedFields"], metadataOf(a.object)["managedFields"])
		}
		for _, text := range append(difference(created.object, a.object, "", false), difference(a.object, created.object, "", false)...) {
			c.t.Errorf("%s: %s: %s", k, step, text)
		}
	}
	same("get", path, c.do(http.MethodGet, path, jsonType, nil), true)
	if !k.hasController() {
		same("update", path, c.do(http.MethodPut, path, jsonType, created.object), k.Kind != "Job")
	}
	for _, other := range all {
		if other.gv.Group != k.gv.Group || other.Kind != k.Kind || other.gv == k.gv {
			continue
		}
		at := other.on(sent)
		seen := c.do(http.MethodGet, at, jsonType, nil)
		if written := c.do(http.MethodPut, at, jsonType, seen.object); !written.ok() {
			c.t.Errorf("%s: update as %s: %d %s\n%v", k, other.gv, written.code, written.status.Message, sent)
		}
		same("conversion to "+other.gv.Version, path, c.do(http.MethodGet, path, jsonType, nil), false)
	}
	applied := c.do(http.MethodPatch, path+"?fieldManager=applier&force=true", "application/apply-patch+yaml", sent)
	same("apply", path, applied, false)
}

// hasController reports whether a controller that is part of the server writes the status of new objects.
func (k *kind) hasController() bool {
	return k.Kind == "CustomResourceDefinition" || k.Kind == "APIService" || k.Kind == "FlowSchema"
}

// changed are fields that the server does not return as they were sent: fields of disabled features, and
// fields that only the server sets.
var changed = []string{
	"CertificateSigningRequest spec.extra",
	"CertificateSigningRequest spec.groups",
	"CertificateSigningRequest spec.uid",
	"CertificateSigningRequest spec.username",
	"Lease spec.preferredHolder",
	"Lease spec.strategy",
	"Node spec.configSource",
	"PersistentVolumeClaim spec.dataSource",
	"PersistentVolumeClaim spec.dataSourceRef",
	"Pod spec.containers.lifecycle.stopSignal",
	"Pod spec.schedulingGroup",
	"ResourceClaim spec.devices.requests.derivedAttributes",
	"Secret stringData",
	"ServiceAccount secrets.apiVersion",
	"ServiceAccount secrets.kind",
	"ServiceAccount secrets.namespace",
	"ServiceAccount secrets.resourceVersion",
	"ServiceAccount secrets.uid",
	"Service spec.sessionAffinityConfig",
	"StatefulSet spec.volumeClaimTemplates.kind",
}

// difference lists the fields of want that are not in got. Fields of metadata that each write changes
// are left out.
func difference(want, got any, path string, isSubset bool) (lines []string) {
	switch want := want.(type) {
	case map[string]any:
		values, _ := got.(map[string]any)
		if values == nil && len(want) > 0 {
			return []string{fmt.Sprintf("%s is missing", path)}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			switch {
			case at == "status.conditions" || at == "status.acceptedNames": // which controllers write
			case at == "metadata.managedFields", at == "metadata.resourceVersion", at == "metadata.generation":
			case isSubset && isEmpty(want[key]):
			default:
				lines = append(lines, difference(want[key], values[key], at, isSubset)...)
			}
		}
		return lines
	case []any:
		values, _ := got.([]any)
		if len(values) != len(want) {
			return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
		}
		for i := range want {
			lines = append(lines, difference(want[i], values[i], fmt.Sprintf("%s[%d]", path, i), isSubset)...)
		}
		return lines
	}
	if number, ok := want.(int); ok {
		want = float64(number)
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s is %v, want %v", path, got, want)}
	}
	return nil
}

// isEmpty reports whether the encoding of a value may be left out.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	}
	return v == nil
}
