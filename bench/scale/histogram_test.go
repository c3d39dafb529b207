package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestBuckets checks that buckets are adjacent, and at most 1/32 wide.
func TestBuckets(t *testing.T) {
	for bucket := range histogramBuckets - 1 {
		end := bucketEnd(bucket)
		if got := bucketOf(end); got != bucket {
			t.Fatalf("%v is in bucket %d, want %d", end, got, bucket)
		}
		next := end + time.Microsecond
		if got := bucketOf(next); got != bucket+1 {
			t.Fatalf("%v is in bucket %d, want %d", next, got, bucket+1)
		}
		if width := bucketEnd(bucket+1) - end; width > time.Microsecond && width > next/32 {
			t.Fatalf("the bucket of %v is %v wide", next, width)
		}
	}
	if got := bucketOf(-time.Second); got != 0 {
		t.Errorf("a negative duration is in bucket %d", got)
	}
	if got := bucketOf(1 << 62); got != histogramBuckets-1 {
		t.Errorf("the longest duration is in bucket %d", got)
	}
}

// TestPercentile compares percentiles with those of sorted durations.
func TestPercentile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 99, 100, 101, 5000} {
		var whole, first, second histogram
		var all []time.Duration
		for i := range n {
			d := time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)).Truncate(time.Microsecond)
			all = append(all, d)
			whole.add(d)
			[]*histogram{&first, &second}[i%2].add(d)
		}
		slices.Sort(all)
		first.merge(&second)
		for _, p := range []uint64{1, 50, 99, 100} {
			want := all[(n*int(p)+99)/100-1]
			got := whole.percentile(p)
			if got < want || got > want+want/32+time.Microsecond {
				t.Errorf("p%d of %d: %v, want %v", p, n, got, want)
			}
			if merged := first.percentile(p); merged != got {
				t.Errorf("p%d of %d: %v after a merge, want %v", p, n, merged, got)
			}
		}
	}
	if got := (&histogram{}).percentile(99); got != 0 {
		t.Errorf("%v without durations", got)
	}
}
