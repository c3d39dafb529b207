package storage

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/miniapiserver/miniapiserver/api"
)

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Open(b.Context(), Options{Ephemeral: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

// startFilled starts a store with n ConfigMaps of 1 KB, written concurrently.
func startFilled(b *testing.B, n int) *Collection {
	b.Helper()
	_, c := startStore(b, Options{})
	text := strings.Repeat("x", 1000)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := worker; i < n; i += 16 {
				key := fmt.Sprintf("ns%d/cm%05d", i%10, i)
				if _, err := c.Create(b.Context(), key, configMap(key, text, "n", fmt.Sprint(i%100))); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return c
}

func encodeJSON(o api.Object) ([]byte, error) { return json.Marshal(o) }

var jsonSlot = NewSlot()

func BenchmarkGet(b *testing.B) {
	c := startFilled(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		i, err := c.Get(b.Context(), "ns1/cm00001", Read{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := i.Encoding(jsonSlot, encodeJSON); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList10k(b *testing.B) {
	c := startFilled(b, 10000)
	selected := func(i *Item) bool { return i.Labels().Get("n") == "7" }
	for name, o := range map[string]ListOptions{
		"all": {}, "namespace": {Prefix: "ns3/"}, "page": {Limit: 500}, "label": {Filter: selected},
	} {
		mustList(b, c, o) // computes the labels
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustList(b, c, o)
			}
		})
	}
}

// BenchmarkCopyEncodings copies the encodings of 10,000 items into a buffer, as a list
// does, to measure the effect of PrefetchEncodings.
func BenchmarkCopyEncodings(b *testing.B) {
	c := startFilled(b, 10000)
	l := mustList(b, c, ListOptions{})
	for _, i := range l.Items {
		if _, err := i.Encoding(jsonSlot, encodeJSON); err != nil {
			b.Fatal(err)
		}
	}
	for name, together := range map[string]int{"alone": 0, "prefetched": 64} {
		b.Run(name, func(b *testing.B) {
			var buf []byte
			for b.Loop() {
				buf = buf[:0]
				for n, i := range l.Items {
					if together > 0 && n%together == 0 {
						PrefetchEncodings(l.Items[n:min(n+together, len(l.Items))], jsonSlot)
					}
					if len(buf) > 256<<10 {
						buf = buf[:0]
					}
					buf = append(buf, i.CachedEncoding(jsonSlot)...)
				}
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	_, c := startStore(b, Options{})
	text := strings.Repeat("x", 1000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		mustCreate(b, c, fmt.Sprint("a/", n), text)
	}
}

// BenchmarkFanout measures the time from one write to the last of 200 watchers, without and
// with a thousand idle watchers of another namespace.
func BenchmarkFanout(b *testing.B) {
	for _, idle := range []int{0, 1000} {
		b.Run(fmt.Sprintf("idle=%d", idle), func(b *testing.B) {
			_, c := startStore(b, Options{})
			for range idle {
				mustWatch(b, c, WatchOptions{Prefix: "idle/"})
			}
			const watchers = 200
			var seen sync.WaitGroup
			for range watchers {
				w := mustWatch(b, c, WatchOptions{Prefix: "a/"})
				go func() {
					for {
						events, err := w.Next(b.Context())
						if err != nil {
							return
						}
						for _, e := range events {
							if _, err := e.Item.Encoding(jsonSlot, encodeJSON); err != nil {
								b.Error(err)
							}
							seen.Done()
						}
					}
				}()
			}
			i := mustCreate(b, c, "x/x", "")
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				seen.Add(watchers)
				mustCreate(b, c, fmt.Sprint("a/", n), "")
				seen.Wait()
			}
			_ = i
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers, "ns/event/watcher")
		})
	}
}
