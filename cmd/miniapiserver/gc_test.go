package main

import (
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct{ inUse, least, most uint64 }{ // in MB
		{4, 1, 3},
		{24, 10, 13},
		{50, 60, 65},
		{200, 60, 65},
		{4000, 1190, 1210},
	} {
		gathers := c.inUse * uint64(gcPercent(c.inUse<<20)) / 100
		if gathers < c.least || gathers > c.most {
			t.Errorf("%d MB in use: %d MB gather, want %d to %d", c.inUse, gathers, c.least, c.most)
		}
	}
}
