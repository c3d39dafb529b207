package storage

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

// TestFollowPanics panics while a change is applied. The process and the watch on etcd must
// survive, and no change may be lost.
func TestFollowPanics(t *testing.T) {
	s := openStore(t, Options{})
	config := configMaps()
	var panicked atomic.Bool
	fields := config.Fields
	config.Fields = func(o api.Object) map[string]string {
		if o.GetName() == "bad" && panicked.CompareAndSwap(false, true) {
			panic("a change")
		}
		return fields(o)
	}
	c, err := s.Collection(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, c, "ns/good", "1")
	data, err := json.Marshal(configMap("ns/bad", "2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().Put(t.Context(), c.prefix+"ns/bad", string(data)); err != nil { // as another server would write it
		t.Fatal(err)
	}
	mustCreate(t, c, "ns/later", "3")
	if got := listedKeys(mustList(t, c, ListOptions{Read: Read{Match: Consistent}})); len(got) != 3 {
		t.Errorf("the cache has %v", got)
	}
	if !panicked.Load() {
		t.Error("there was no panic")
	}
}
