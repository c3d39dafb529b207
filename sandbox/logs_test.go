package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSelectLines checks the options of kubectl logs.
func TestSelectLines(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	now := began.Add(time.Hour)
	number := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		options corev1.PodLogOptions
		want    string
	}{
		"all":           {corev1.PodLogOptions{}, "one|2026-01-02T03:59:00Z two|2026-01-02T03:59:30Z three"},
		"tail":          {corev1.PodLogOptions{TailLines: number(1)}, "2026-01-02T03:59:30Z three"},
		"tail of none":  {corev1.PodLogOptions{TailLines: number(0)}, ""},
		"since seconds": {corev1.PodLogOptions{SinceSeconds: number(60)}, "2026-01-02T03:59:00Z two|2026-01-02T03:59:30Z three"},
		"since time":    {corev1.PodLogOptions{SinceTime: &metav1.Time{Time: now.Add(-30 * time.Second)}}, "2026-01-02T03:59:30Z three"},
	} {
		var texts []string
		for _, line := range selectLines(readLines("one\n2026-01-02T03:59:00Z two\n2026-01-02T03:59:30Z three\n", began), &test.options, now) {
			texts = append(texts, line.text)
		}
		if got := strings.Join(texts, "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestLogs checks that kubectl logs prints what the annotation of a pod says, and follows it.
func TestLogs(t *testing.T) {
	s := Start(t, Options{})
	pods := s.Client.CoreV1().Pods("default")
	create := func(name string, spec corev1.PodSpec) {
		t.Helper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationLogs: "first\nsecond"}}, Spec: spec}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create("web", podTemplate(nil).Spec)
	crashing := podTemplate(nil).Spec
	crashing.RestartPolicy, crashing.Containers[0].Command = corev1.RestartPolicyOnFailure, []string{"false"}
	create("crashing", crashing)
	eventually(t, "one pod runs, and a container is restarted", func(ctx context.Context) (bool, error) {
		web, err := pods.Get(ctx, "web", metav1.GetOptions{})
		if err != nil || web.Status.Phase != corev1.PodRunning {
			return false, err
		}
		pod, err := pods.Get(ctx, "crashing", metav1.GetOptions{})
		return err == nil && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 0, err
	})
	limit, one := int64(3), int64(1)
	for _, test := range []struct {
		pod     string
		options corev1.PodLogOptions
		want    string // of the log or of the error
	}{
		{"web", corev1.PodLogOptions{}, "first\nsecond\n"},
		{"web", corev1.PodLogOptions{TailLines: &one}, "second\n"},
		{"web", corev1.PodLogOptions{LimitBytes: &limit}, "fir"},
		{"web", corev1.PodLogOptions{Previous: true}, `previous terminated container "main" in pod "web" not found`},
		{"crashing", corev1.PodLogOptions{Previous: true}, "first\nsecond\n"},
	} {
		got, err := pods.GetLogs(test.pod, &test.options).DoRaw(t.Context())
		if text := string(got); err == nil && text != test.want || err != nil && !strings.Contains(text, test.want) {
			t.Errorf("%s %v: got %q, %v", test.pod, test.options, text, err)
		}
	}
	if text, err := pods.GetLogs("web", &corev1.PodLogOptions{Timestamps: true, TailLines: &one}).DoRaw(t.Context()); err != nil {
		t.Error(err)
	} else if at, rest, _ := strings.Cut(string(text), " "); rest != "second\n" {
		t.Errorf("got %q", text)
	} else if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		t.Error(err)
	}
	stream, err := pods.GetLogs("web", &corev1.PodLogOptions{Follow: true, TailLines: &one}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, %v, want %q", lines.Text(), lines.Err(), want)
		}
	}
	next("second")
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotationLogs: "first\nsecond\nthird"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	next("third")
	if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after the pod: %q, %v", lines.Text(), lines.Err())
	}
}
