package request

import (
	"regexp"
	"testing"
)

func TestNewUUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := NewUUID()
		if !form.MatchString(id) || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

func BenchmarkNewUUID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewUUID()
	}
}
