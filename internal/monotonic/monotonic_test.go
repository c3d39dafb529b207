package monotonic

import "testing"

// TestNow checks that readings are positive and do not decrease.
func TestNow(t *testing.T) {
	for last := int64(1); last < 1000*1000; { // a millisecond after the start at least
		now := Now()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
}
