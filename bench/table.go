package main

import (
	"bytes"
	"fmt"
	"time"
)

// printHead prints the head of a table.
func printHead(title string) {
	fmt.Printf("\n%s; CPU time is the server's per operation; the floor sends constant bytes over the same TLS and HTTP/2 stack\n\n", title)
	fmt.Printf("%-10s %-22s %8s %9s %9s %6s %9s %9s %9s %9s %7s\n",
		"workload", "", "ops", "CPU ms", "floor ms", "ratio", "ops/s", "p50 ms", "p99 ms", "KB/op", "RSS MB")
}

func printRow(w *workload, r, least *result) {
	ratio := "-"
	if least.cpu > 0 {
		ratio = fmt.Sprintf("%.2f", r.perOp()/least.perOp())
	}
	fmt.Printf("%-10s %-22s %8d %9.4f %9.4f %6s %9.0f %9.2f %9.2f %9.1f %7d\n",
		w.name, w.about, r.ops, r.perOp(), least.perOp(), ratio, float64(r.ops)/r.took.Seconds(),
		ms(r.p50), ms(r.p99), float64(r.bytes)/float64(r.ops)/1000, r.rss>>20)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// valueAfter returns the quoted value after key in the head of a list.
func valueAfter(head []byte, key string) string {
	_, rest, _ := bytes.Cut(head, []byte(key))
	value, _, ended := bytes.Cut(rest, []byte(`"`))
	if !ended {
		return ""
	}
	return string(value)
}
