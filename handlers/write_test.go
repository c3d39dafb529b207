package handlers

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDeleteIsAccepted checks that a deletion with orphanDependents: false gets status 202 if the
// object remains for its finalizer, and that other deletions get 200.
func TestDeleteIsAccepted(t *testing.T) {
	h := newHandler(t, nil)
	for i, c := range []struct {
		finalizers, options string
		want                int
	}{
		{`["example.com/x"]`, `{"orphanDependents":false}`, http.StatusAccepted},
		{`["example.com/x"]`, `{"propagationPolicy":"Background"}`, http.StatusOK},
		{`["example.com/x"]`, "", http.StatusOK},
		{`[]`, `{"orphanDependents":false}`, http.StatusOK},
	} {
		name := fmt.Sprintf("m%d", i)
		created := sendText(t, h, "POST", mapsPath, fmt.Sprintf(`{"metadata":{"name":%q,"finalizers":%s}}`, name, c.finalizers))
		if created.Code != http.StatusCreated {
			t.Fatal(created.Body)
		}
		if w := sendText(t, h, "DELETE", mapsPath+"/"+name, c.options); w.Code != c.want {
			t.Errorf("finalizers %s, options %s: %d, want %d", c.finalizers, c.options, w.Code, c.want)
		}
	}
}
