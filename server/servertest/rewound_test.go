package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestRewound checks that each test finds what Fill made and nothing of another test, one after the other and in parallel, and that
// forks are used again.
func TestRewound(t *testing.T) {
	shared := Shared{Fill: func(ctx context.Context, s *Server) error {
		_, err := s.Client.CoreV1().ConfigMaps("default").Create(ctx, configMap("filled"), metav1.CreateOptions{})
		return err
	}}
	shared.setRunning(true)
	t.Cleanup(func() { shared.run(func() int { return 0 }, t.Output()) })
	var together sync.WaitGroup
	together.Add(2)
	test := func(t *testing.T) *Server {
		s := shared.Rewound(t)
		maps := s.Client.CoreV1().ConfigMaps("default")
		if _, err := maps.Get(t.Context(), "filled", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := maps.Create(t.Context(), configMap("own"), metav1.CreateOptions{}); err != nil {
			t.Errorf("something of another test is there: %v", err)
		}
		if err := maps.Delete(t.Context(), "filled", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		return s
	}
	for n := range 3 {
		t.Run(fmt.Sprint("one after the other ", n), func(t *testing.T) { test(t) })
	}
	t.Run("parallel", func(t *testing.T) {
		for range 2 { // as many as run at the same time on two cores
			t.Run("", func(t *testing.T) {
				t.Parallel()
				test(t)
				together.Done()
				together.Wait() // all have a server at the same time
			})
		}
	})
	t.Run("afterwards", func(t *testing.T) { test(t) })
	if n := len(shared.forks); n != 1 || len(shared.free) != 2 {
		t.Errorf("%d forks, %d free servers", n, len(shared.free))
	}
}
