package controllers

import (
	"testing"
	"time"
)

func TestMending(t *testing.T) {
	m, now := mending{}, time.Unix(1e9, 0)
	if left := m.left("a", now); left != done {
		t.Errorf("the first time it waits for %v", time.Duration(left))
	}
	if left := m.left("b", now); left != done {
		t.Errorf("another waits for %v", time.Duration(left))
	}
	// Changed at once after each time that it was mended.
	writes := 0
	for end := now.Add(2 * time.Hour); now.Before(end); {
		left := m.left("a", now)
		if left == done {
			writes++
			continue
		}
		now = now.Add(time.Duration(left))
	}
	if writes < 20 || writes > 30 {
		t.Errorf("mended %d times in two hours of quarrel", writes)
	}
	now = now.Add(time.Hour)
	m.left("a", now)
	if left := m.left("a", now); left != verdict(firstPause) {
		t.Errorf("after an hour of peace it waits for %v", time.Duration(left))
	}
}
