package lab

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
	"github.com/miniapiserver/miniapiserver/server"
)

// BenchmarkReplay measures how long 10,000 requests of eight clients take, when they are sent at first, recorded, and in a replay at the
// recorded times and as fast as possible. Run it with -benchtime 1x.
func BenchmarkReplay(b *testing.B) {
	file := ""
	for _, spec := range []string{"", `{"addressed":true}`} {
		b.Run("first "+spec, func(inner *testing.B) {
			for inner.Loop() {
				w := start(inner, server.Options{Lab: server.Lab{Enabled: true, Memory: 256 << 20}})
				config := w.outside()
				if spec != "" {
					config = w.startRecording("many", spec)
				}
				begin := time.Now()
				writeMany(inner, config)
				inner.ReportMetric(time.Since(begin).Seconds(), "s")
				if w.t = b; spec != "" { // the file is needed below
					file, _ = w.recorded("many")
				}
			}
		})
	}
	files, err := conversation.Load(file)
	if err != nil {
		b.Fatal(err)
	}
	for name, fast := range map[string]bool{"as recorded": false, "fast": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := start(b, server.Options{Lab: server.Lab{Enabled: true, Memory: 256 << 20}})
				begin := time.Now()
				results, err := conversation.Replayer{Server: w.s.URL, Token: w.s.Token, Fast: fast}.Run(b.Context(), files)
				if err != nil {
					b.Fatal(err)
				}
				took, differ := time.Since(begin), 0
				for _, r := range results {
					if !r.Agrees() {
						differ++
						b.Log(r.Step.Method, r.Step.Path, r.Differences)
					}
				}
				b.ReportMetric(took.Seconds(), "s")
				b.ReportMetric(float64(len(results)), "requests")
				b.ReportMetric(float64(differ), "differ")
			}
		})
	}
}

// writeMany sends about 10,000 requests of eight clients, each of which creates, updates, gets and deletes objects.
func writeMany(b *testing.B, config *rest.Config) {
	b.Helper()
	const clients, rounds = 8, 313
	var all sync.WaitGroup
	defer all.Wait()
	for n := range clients {
		all.Go(func() {
			maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
			for i := range rounds {
				cm, err := maps.Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d-%d", n, i)}}, metav1.CreateOptions{})
				if err == nil {
					cm.Data = map[string]string{"i": fmt.Sprint(i)}
					_, err = maps.Update(b.Context(), cm, metav1.UpdateOptions{})
				}
				if err == nil {
					_, err = maps.Get(b.Context(), cm.Name, metav1.GetOptions{})
				}
				if err == nil {
					err = maps.Delete(b.Context(), cm.Name, metav1.DeleteOptions{})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
}
