package main

import (
	"os"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestFlagsDocumentIsUpToDate checks that docs/flags.md equals the output of the command.
func TestFlagsDocumentIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != document(server.NewCommandLine().Flags()) {
		t.Error("docs/flags.md is out of date: run make generate")
	}
}

// TestGatesDocumentIsUpToDate checks that docs/feature-gates.md equals the output of the command, and that it says of each
// gate what its effect is.
func TestGatesDocumentIsUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../../docs/feature-gates.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := gatesDocument()
	if err != nil || string(got) != want {
		t.Errorf("docs/feature-gates.md is out of date (%v): run make generate", err)
	}
	if strings.Contains(want, "unknown |") {
		t.Error("the effect of a gate is unknown")
	}
}

// TestMarkdown checks the table of a flag.
func TestMarkdown(t *testing.T) {
	table := server.NewCommandLine().Flags()
	text := markdown(table)
	for _, line := range []string{
		"| `--etcd-prefix` | string | `/registry` | Prefix of all keys in etcd. |",
		"| `--v`, `-v` | int | `0` | Verbosity of the log: 0 for warnings and errors, 2 for information and requests that take longer than 500 ms, 3 for all requests, 4 for debugging. |",
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if n := strings.Count(text, "\n| `--"); n != len(table) {
		t.Errorf("%d of %d flags have a line", n, len(table))
	}
	kube := kubeTable(table)
	for _, line := range []string{
		"| `--etcd-prefix` | works |  |",
		"| `--lease-reuse-duration-seconds` | no effect | events share leases of a fixed granularity |",
		"| `--peer-ca-file` | must be empty | this server does not connect to other API servers, and would not verify them by this CA |",
	} {
		if !strings.Contains(kube, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(kube, "`--ephemeral`") {
		t.Error("a flag of miniapiserver alone is among those of kube-apiserver")
	}
	if got := escape("a|b *c* d_e <f"); got != `a\|b \*c\* d\_e &lt;f` {
		t.Errorf("got %s", got)
	}
}
