package openapi

import (
	"os"
	"testing"
	"time"
	"strings"
	"runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestScratch(t *testing.T) {
	start := time.Now()
	defs, err := Open()
	if err != nil { t.Fatal(err) }
	t.Log("open", time.Since(start))
	res := func(name, kind string, ns bool, verbs string, subs ...Subresource) Resource {
		v := strings.Fields(verbs)
		if verbs == "" { v = []string{"create","delete","deletecollection","get","list","patch","update","watch"} }
		return Resource{Name: name, Kind: kind, Namespaced: ns, Verbs: v, Model: "io.k8s.api.core.v1."+kind, ListModel: "io.k8s.api.core.v1."+kind+"List", Subresources: subs}
	}
	st := Subresource{Name: "status", Kind: schema.GroupVersionKind{Version:"v1",Kind:"Pod"}, Model: "io.k8s.api.core.v1.Pod", Verbs: []string{"get","patch","update"}}
	d := VersionDocument(schema.GroupVersion{Version: "v1"}, []Resource{res("configmaps","ConfigMap",true,""), res("pods","Pod",true,"",st), res("nodes","Node",false,""), res("componentstatuses","ComponentStatus",false,"get list"), res("bindings","Binding",true,"create"), res("endpoints", "Endpoints", true, "")})
	start = time.Now()
	out, err := d.V3(Info{"v1.36.0"}, defs)
	if err != nil { t.Fatal(err) }
	t.Log("v3", time.Since(start), len(out))
	os.WriteFile("/tmp/mine_v3.json", out, 0o644)
	start = time.Now()
	out, err = V2(Info{"v1.36.0"}, []Document{d, ServerDocument(), GroupDocument("apps")}, defs)
	if err != nil { t.Fatal(err) }
	t.Log("v2", time.Since(start), len(out))
	os.WriteFile("/tmp/mine_v2.json", out, 0o644)
	cr := res("widgets","Widget",true,"")
	cr.Custom = true
	cr.Model, cr.ListModel = "example.parity.<id>.v1.Widget", "example.parity.<id>.v1.WidgetList"
	defs.Add(Definition{Name: cr.Model, V3: []byte(`{"x":"$ref"}`)}, Definition{Name: cr.ListModel, V3: []byte(`{"a":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}, "b":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}}`)})
	out, err = VersionDocument(schema.GroupVersion{Group: "<id>.parity.example", Version: "v1"}, []Resource{cr}).V3(Info{"v1.36.0"}, defs)
	if err != nil { t.Fatal(err) }
	os.WriteFile("/tmp/mine_cr.json", out, 0o644)
	start = time.Now()
	var m1, m2 runtime.MemStats
	runtime.GC(); runtime.ReadMemStats(&m1)
	p, err := defs.Parser("io.k8s.api.core.v1.Pod")
	if err != nil { t.Fatal(err) }
	tm := time.Since(start)
	runtime.GC(); runtime.ReadMemStats(&m2)
	t.Log("parser", tm, len(p.Schema.Types), (m2.HeapAlloc-m1.HeapAlloc)/1024)
}
