package lab

import (
	"testing"
	"time"
)

// TestUnchangedWrite checks that a request that changed nothing is not named as the author of the revision with which it was answered.
func TestUnchangedWrite(t *testing.T) {
	ref := ObjectRef{"", "configmaps", "default", "a"}
	began := time.Unix(1000, 0)
	kept := func(name string, rev int64, after time.Duration) *keptRequest {
		k := &keptRequest{name: name, object: ref, rev: rev, detail: &details{}}
		k.detail.write.at = began.Add(after)
		return k
	}
	for name, order := range map[string][]int{"in order": {0, 1, 2}, "out of order": {2, 1, 0}} {
		requests := []*keptRequest{kept("create", 5, 0), kept("patch", 6, 1), kept("no change", 6, 2)}
		l := &Lab{writes: writeIndex{}}
		for _, i := range order {
			l.writes.add(requests[i])
		}
		for rev, want := range map[int64]string{5: "create", 6: "patch"} {
			if id, _, _, _, _, ok := l.RequestOf("", "configmaps", "default", "a", rev); !ok || id != want {
				t.Errorf("%s: revision %d by %q, want %q", name, rev, id, want)
			}
		}
		for _, k := range requests {
			l.writes.remove(k)
		}
		if len(l.writes) != 0 {
			t.Errorf("%s: kept %v", name, l.writes)
		}
	}
}
