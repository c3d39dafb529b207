package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTableOrder checks that the rows of a Table of flow schemas are in matching order.
func TestTableOrder(t *testing.T) {
	h := newBenched(t)
	const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
	for name, precedence := range map[string]int{"a": 9000, "b": 50, "c": 500, "d": 50} {
		body := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"priorityLevelConfiguration":{"name":"global-default"},"matchingPrecedence":%d}}`, name, precedence)
		do(t, h, http.MethodPost, path, body)
	}
	w := do(t, h, http.MethodGet, path, "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	var table metav1.Table
	if err := json.Unmarshal(w.Body.Bytes(), &table); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range table.Rows {
		names = append(names, fmt.Sprint(r.Cells[0]))
	}
	if want := []string{"b", "d", "c", "a"}; !slices.Equal(names, want) {
		t.Errorf("rows %v, want %v", names, want)
	}
}
