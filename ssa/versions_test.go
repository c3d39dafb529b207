package ssa

import (
	"encoding/json"
	"testing"
)

// TestInexactConversion compares an update in a version whose conversion reorders a list with the
// library of kube-apiserver: the owner in the other version keeps the list.
func TestInexactConversion(t *testing.T) {
	res := resource(t, "horizontalpodautoscalers")
	converter, schemas := builtIn()
	b := newBoth(res, converter, schemas, nil)
	obj := res.New()
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"h","namespace":"ns","uid":"u"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"minReplicas":1,"maxReplicas":2,"metrics":[
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
		{"type":"Pods","pods":{"metric":{"name":"q"},"target":{"type":"AverageValue","averageValue":"10"}}}]}}`), obj); err != nil {
		t.Fatal(err)
	}
	b.update(t, obj, Write{Version: &res.Versions[0], Manager: "m"})
	older := &res.Versions[1]
	if older.ToHub == nil {
		t.Fatalf("%s is not converted", older)
	}
	next, err := b.m.converted(&view{version: older}, b.live)
	if err != nil {
		t.Fatal(err)
	}
	b.update(t, next, Write{Version: older, Manager: "m"})
}
