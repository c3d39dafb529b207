package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are at most 1/32 wide, relative to their values.
type histogram struct {
	counts [histogramBuckets]uint32
	n      uint64
	max    time.Duration
}

const (
	// halfBuckets is the number of buckets for each power of two.
	halfBuckets      = 32
	histogramBuckets = 32 * halfBuckets
)

// bucketOf returns the bucket of a duration. Durations below 64 µs have a bucket for each microsecond.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0) / time.Microsecond)
	if v < 2*halfBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - bits.Len(2*halfBuckets-1)
	return min(shift*halfBuckets+int(v>>shift), histogramBuckets-1)
}

// bucketEnd returns the greatest duration of a bucket, in whole microseconds.
func bucketEnd(bucket int) time.Duration {
	if bucket < 2*halfBuckets {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/halfBuckets - 1
	return time.Duration((uint64(bucket%halfBuckets)+halfBuckets+1)<<shift-1) * time.Microsecond
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
	h.max = max(h.max, d)
}

// merge adds the durations of other.
func (h *histogram) merge(other *histogram) {
	if other.n == 0 {
		return
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// percentile returns the smallest duration that at least p percent of the durations do not exceed,
// rounded up to the end of its bucket; 0 if there are none.
func (h *histogram) percentile(p uint64) time.Duration {
	rank := (h.n*p + 99) / 100
	var seen uint64
	for i, n := range h.counts {
		seen += uint64(n)
		if n > 0 && seen >= rank {
			return min(bucketEnd(i), h.max)
		}
	}
	return 0
}
