package metrics

import (
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// nativeBuckets are the native buckets of a histogram. A schema is a resolution: that of the next lower
// one is half as high, and each of its buckets has two of the higher one.
type nativeBuckets struct {
	schema             int32
	zeroThreshold      float64
	zero               uint64
	positive, negative map[int32]int64 // counts by the index of the bucket
}

// nativeOf returns the native buckets of a histogram, and whether it has some.
func nativeOf(h *dto.Histogram) (nativeBuckets, bool) {
	if h.Schema == nil {
		return nativeBuckets{}, false
	}
	return nativeBuckets{
		schema: h.GetSchema(), zeroThreshold: h.GetZeroThreshold(), zero: h.GetZeroCount(),
		positive: countsOf(h.PositiveSpan, h.PositiveDelta), negative: countsOf(h.NegativeSpan, h.NegativeDelta),
	}, true
}

// countsOf returns the counts by index. Each delta is relative to the count before it.
func countsOf(spans []*dto.BucketSpan, deltas []int64) map[int32]int64 {
	counts := map[int32]int64{}
	var index int32
	var count int64
	next := 0
	for _, span := range spans {
		index += span.GetOffset()
		for range span.GetLength() {
			count += deltas[next]
			next++
			counts[index] = count
			index++
		}
	}
	return counts
}

// combineNative sets the native buckets of out to those of a, plus those of b times sign, in the
// lower of both resolutions. Without native buckets of both, out gets none.
func combineNative(out, a, b *dto.Histogram, sign int64) {
	x, ok := nativeOf(a)
	y, both := nativeOf(b)
	if !ok || !both {
		return
	}
	schema := min(x.schema, y.schema)
	zero := uint64(int64(x.zero) + sign*int64(y.zero))
	out.Schema, out.ZeroThreshold, out.ZeroCount = &schema, &x.zeroThreshold, &zero
	sum := func(a, b map[int32]int64) map[int32]int64 {
		a, b = coarser(a, x.schema-schema), coarser(b, y.schema-schema)
		for index, count := range b {
			a[index] += sign * count
		}
		maps.DeleteFunc(a, func(_ int32, count int64) bool { return count == 0 })
		return a
	}
	out.PositiveSpan, out.PositiveDelta = spansOf(sum(x.positive, y.positive))
	out.NegativeSpan, out.NegativeDelta = spansOf(sum(x.negative, y.negative))
	if zero == 0 && len(out.PositiveSpan) == 0 && len(out.NegativeSpan) == 0 {
		// An empty span tells a native histogram without observations from a classic one.
		out.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32), Length: new(uint32)}}
	}
}

// coarser returns the counts in a resolution that is some steps lower.
func coarser(counts map[int32]int64, steps int32) map[int32]int64 {
	for range steps {
		next := make(map[int32]int64, len(counts))
		for index, count := range counts {
			next[(index+1)>>1] += count
		}
		counts = next
	}
	return counts
}

// spansOf is the inverse of countsOf.
func spansOf(counts map[int32]int64) (spans []*dto.BucketSpan, deltas []int64) {
	var next int32
	var before int64
	for _, index := range slices.Sorted(maps.Keys(counts)) {
		if len(spans) == 0 || index != next {
			offset := index - next // of the first span, from zero
			spans = append(spans, &dto.BucketSpan{Offset: &offset, Length: new(uint32)})
		}
		*spans[len(spans)-1].Length++
		deltas = append(deltas, counts[index]-before)
		before, next = counts[index], index+1
	}
	return spans, deltas
}

// removeNative removes the native buckets of the histograms of a family. Series are shared with the
// metrics that they were read from, so removeNative changes copies.
func removeNative(f *dto.MetricFamily) {
	if f.GetType() != dto.MetricType_HISTOGRAM {
		return
	}
	f.Metric = slices.Clone(f.Metric)
	for i, m := range f.Metric {
		if h := m.Histogram; h.Schema != nil {
			f.Metric[i] = &dto.Metric{Label: m.Label, TimestampMs: m.TimestampMs, Histogram: &dto.Histogram{
				SampleCount: h.SampleCount, SampleSum: h.SampleSum, Bucket: h.Bucket, CreatedTimestamp: h.CreatedTimestamp,
			}}
		}
	}
}
