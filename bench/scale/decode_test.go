package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// frame returns a watch event in protobuf.
func frame(t *testing.T, kind string, pod *corev1.Pod) (head [4]byte, rest []byte) {
	t.Helper()
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encode("v1", "Pod", pod)}}
	rest, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(head[:], uint32(len(rest)))
	return head, rest
}

// TestProtobufEvents checks the parts that are read of events, and their facts.
func TestProtobufEvents(t *testing.T) {
	now := metav1.NewTime(time.Now())
	end := map[string]string{"a": "b", endAnnotation: "true"}
	pod := func(node string, phase corev1.PodPhase, deletion *metav1.Time) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", ResourceVersion: "42",
			DeletionTimestamp: deletion},
			Spec: corev1.PodSpec{NodeName: node,
				Containers: []corev1.Container{{Name: "c"}}}, Status: corev1.PodStatus{Phase: phase}}
	}
	var buf []byte
	for name, tt := range map[string]struct {
		kind string
		pod  *corev1.Pod
		// facts are the facts for kubelet, controller and scheduler, or -1.
		facts [3]fact
	}{
		"new": {"ADDED", pod("", corev1.PodPending, nil),
			[3]fact{bound, -1, unscheduled}}, // a kubelet sees no pod without a node
		"bound":       {"ADDED", pod("node", corev1.PodPending, nil), [3]fact{bound, -1, -1}},
		"running":     {"MODIFIED", pod("node", corev1.PodRunning, nil), [3]fact{-1, ready, -1}},
		"terminating": {"MODIFIED", pod("node", corev1.PodRunning, &now), [3]fact{terminating, ready, -1}},
		"deleted":     {"DELETED", pod("node", corev1.PodRunning, &now), [3]fact{-1, gone, -1}},
	} {
		head, rest := frame(t, tt.kind, tt.pod)
		var e event
		var err error
		e, buf, err = readProtobufEvent(bytes.NewReader(rest), head, buf)
		if err != nil {
			t.Fatal(err)
		}
		deleting := tt.pod.DeletionTimestamp != nil
		if e.kind != tt.kind || string(e.name) != "p" || string(e.uid) != "u" || e.version != 42 ||
			e.deleting != deleting || e.initialEventsEnd {
			t.Errorf("%s: %+v", name, e)
		}
		for by, want := range tt.facts {
			got, ok := factOf(observer(by), &e)
			if !ok {
				got = -1
			}
			if got != want {
				t.Errorf("%s: observer %d sees %d, want %d", name, by, got, want)
			}
		}
	}
	head, rest := frame(t, "BOOKMARK",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: end}})
	e, _, err := readProtobufEvent(bytes.NewReader(rest), head, nil)
	if err != nil || e.kind != "BOOKMARK" || e.version != 7 || !e.initialEventsEnd {
		t.Errorf("bookmark: %+v, %v", e, err)
	}
	if _, _, err := readProtobufEvent(bytes.NewReader(rest[:len(rest)-1]), head, nil); err == nil {
		t.Error("no error for a part of an event")
	}
}

// TestJSONEvents checks the parts that are read of events in JSON.
func TestJSONEvents(t *testing.T) {
	e, err := decodeJSONEvent([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a","uid":"u","resourceVersion":"5",` +
		`"deletionTimestamp":"2026-01-01T00:00:00Z"}}}`))
	if err != nil || e.kind != "ADDED" || string(e.name) != "a" || string(e.uid) != "u" || e.version != 5 ||
		!e.deleting || e.initialEventsEnd {
		t.Errorf("%+v, %v", e, err)
	}
	e, err = decodeJSONEvent([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6",` +
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`))
	if err != nil || e.version != 6 || !e.initialEventsEnd {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := decodeJSONEvent([]byte(`{"type":`)); err == nil {
		t.Error("no error for a part of an event")
	}
}

// TestReadBody checks which part of a response is returned, and that all of it is read.
func TestReadBody(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(text)) // cannot fail
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body, encoding string
		length         int64
		keep           int
		want           string
	}{
		{text, "", int64(len(text)), 0, text},
		{text, "", -1, 0, text},
		{text, "", -1, 5, "01234"},
		{"01", "", 2, 5, "01"},
		{zipped.String(), "gzip", -1, 12, "012345678901"},
	} {
		body := strings.NewReader(tt.body)
		resp := &http.Response{Body: io.NopCloser(body), ContentLength: tt.length,
			Header: http.Header{"Content-Encoding": {tt.encoding}}}
		if got, err := readBody(resp, tt.keep); err != nil || string(got) != tt.want || body.Len() != 0 {
			t.Errorf("%d bytes, %d unread: %v", len(got), body.Len(), err)
		}
	}
}

// TestJSONVersion checks the resourceVersion of objects in JSON.
func TestJSONVersion(t *testing.T) {
	for object, want := range map[string]uint64{
		`{"metadata":{"name":"a","resourceVersion":"12"},"status":{"resourceVersion":"13"}}`: 12,
		`{"metadata":{"name":"a"}}`: 0,
	} {
		if got := jsonVersion([]byte(object)); got != want {
			t.Errorf("%s: %d", object, got)
		}
	}
}

// TestPodCount checks the number of pods from a page.
func TestPodCount(t *testing.T) {
	for page, want := range map[string]int{
		`{"metadata":{"remainingItemCount":89},"items":[{}]}`: 90,
		`{"metadata":{},"items":[]}`:                          0,
	} {
		if got, err := podCount([]byte(page)); err != nil || got != want {
			t.Errorf("%s: %d, %v", page, got, err)
		}
	}
}
