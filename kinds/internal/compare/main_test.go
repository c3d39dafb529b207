package main

import (
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/source"
)

func TestReport(t *testing.T) {
	older := source.Declarations{
		{Sort: source.Type, Text: "v1.Pod"}:        "",
		{Sort: source.Field, Text: "v1.Pod.spec"}:  "Spec",
		{Sort: source.Field, Text: "v1.Pod.gone"}:  "string",
		{Sort: source.Type, Text: "v1.PodSpec"}:    "",
		{Sort: source.Constant, Text: "v1.Always"}: "",
	}
	newer := source.Declarations{
		{Sort: source.Type, Text: "v1.Pod"}:        "",
		{Sort: source.Field, Text: "v1.Pod.spec"}:  "Spec +optional",
		{Sort: source.Field, Text: "v1.Pod.added"}: "int",
		{Sort: source.Type, Text: "v1.New"}:        "",
		{Sort: source.Field, Text: "v1.New.field"}: "int",
		{Sort: source.Type, Text: "v1.PodSpec"}:    "",
		{Sort: source.Constant, Text: "v1.Always"}: "",
	}
	var b strings.Builder
	report(&b, older, newer)
	want := `field added: v1.Pod.added int
field removed: v1.Pod.gone
field changed: v1.Pod.spec
	from Spec
	to   Spec +optional
type added: v1.New
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReportMissing(t *testing.T) {
	var b strings.Builder
	reportMissing(&b, source.Declarations{
		{Sort: source.Kind, Text: "k8s.io/api/core/v1.Pod"}:                               "",
		{Sort: source.Kind, Text: "k8s.io/api/policy/v1.Eviction"}:                        "",
		{Sort: source.Kind, Text: "k8s.io/api/core/v1.Unheard"}:                           "",
		{Sort: source.Kind, Text: "k8s.io/api/apps/v1beta1.Old"}:                          "",
		{Sort: source.Lifecycle, Text: "k8s.io/api/apps/v1beta1.Old.APILifecycleRemoved"}: "1, 16",
		{Sort: source.Gate, Text: "UnheardGate"}:                                          "",
	})
	want := "kind without a description here: k8s.io/api/core/v1.Unheard\nunknown gate: UnheardGate\n"
	if b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}
