package reconcile

import (
	"testing"
	"time"
)

func TestMending(t *testing.T) {
	m, now := RepairLimiter{}, time.Unix(1e9, 0)
	if left := m.UntilRepair("a", now); left != Done {
		t.Errorf("the first time it waits for %v", time.Duration(left))
	}
	if left := m.UntilRepair("b", now); left != Done {
		t.Errorf("another waits for %v", time.Duration(left))
	}
	// Changed immediately after each repair.
	writes := 0
	for end := now.Add(2 * time.Hour); now.Before(end); {
		left := m.UntilRepair("a", now)
		if left == Done {
			writes++
			continue
		}
		now = now.Add(-time.Duration(left))
	}
	if writes < 20 || writes > 30 {
		t.Errorf("repaired %d times in two hours of conflict", writes)
	}
	now = now.Add(time.Hour)
	m.UntilRepair("a", now)
	if left := m.UntilRepair("a", now); left != Poll(minRepairPause) {
		t.Errorf("after an hour without conflict it waits for %v", time.Duration(left))
	}
}
