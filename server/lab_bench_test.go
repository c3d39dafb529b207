package server

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// benchObjects is the number of objects of the server of the benchmarks below.
const benchObjects = 10000

// filledServer returns a server with a lab and benchObjects ConfigMaps, and a client of them.
func filledServer(b *testing.B) (*Server, typedcorev1.ConfigMapInterface) {
	b.Helper()
	s, c := startLabServer(b, Options{})
	maps := c.CoreV1().ConfigMaps("default")
	inParallel(b, benchObjects, func(n int) error {
		_, err := maps.Create(b.Context(), benchMap(n), metav1.CreateOptions{})
		return err
	})
	return s, maps
}

func benchMap(n int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%05d", n)}, Data: map[string]string{"a": "b"}}
}

// inParallel calls f for 0 to n-1, eight at a time.
func inParallel(b *testing.B, n int, f func(int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := worker; i < n; i += 8 {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRewind measures a checkpoint of 10,000 objects, rewinds of 100 and of all of them, and what a client does instead: it
// deletes the objects and creates them again.
func BenchmarkRewind(b *testing.B) {
	s, maps := filledServer(b)
	m, err := s.Lab().Checkpoint(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("checkpoint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Lab().Checkpoint(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{100, benchObjects} {
		b.Run(fmt.Sprint("rewind of ", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				inParallel(b, n, func(i int) error { return maps.Delete(b.Context(), benchMap(i).Name, metav1.DeleteOptions{}) })
				b.StartTimer()
				if err := s.Lab().Rewind(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint("delete and create ", n), func(b *testing.B) {
			for b.Loop() {
				inParallel(b, n, func(i int) error { return maps.Delete(b.Context(), benchMap(i).Name, metav1.DeleteOptions{}) })
				inParallel(b, n, func(i int) error {
					_, err := maps.Create(b.Context(), benchMap(i), metav1.CreateOptions{})
					return err
				})
			}
		})
	}
}

// BenchmarkFork measures a fork of a server with 10,000 objects until it is ready.
func BenchmarkFork(b *testing.B) {
	s, _ := filledServer(b)
	if _, err := s.tokenKeys.Generate(); err != nil { // the first fork of a server that has signed no token waits for it
		b.Fatal(err)
	}
	for b.Loop() {
		fork, err := s.Fork(b.Context(), ForkOptions{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c := kubernetes.NewForConfigOrDie(fork.RESTConfig())
		if _, err := c.CoreV1().ConfigMaps("default").Get(b.Context(), benchMap(benchObjects-1).Name, metav1.GetOptions{}); err != nil {
			b.Error(err)
		}
		if err := fork.Stop(b.Context()); err != nil {
			b.Error(err)
		}
		b.StartTimer()
	}
}
