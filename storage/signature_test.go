package storage

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// A set of labels that is part of another must never be ruled out by its
// signature.
func TestLabelSignature(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c]{0,2}`)
		part := rapid.MapOf(text, text).Draw(t, "part")
		whole := rapid.MapOf(text, text).Draw(t, "rest")
		maps.Copy(whole, part)
		i := &Item{}
		if !i.MayHaveLabels(LabelSignature(part)) {
			t.Error("ruled out before the labels were looked at")
		}
		i.signature.Store(LabelSignature(whole) | known)
		if !i.MayHaveLabels(LabelSignature(part)) {
			t.Errorf("%v is part of %v", part, whole)
		}
	})
	i := &Item{}
	i.signature.Store(LabelSignature(map[string]string{"app": "web"}) | known)
	if i.MayHaveLabels(LabelSignature(map[string]string{"app": "other", "tier": "back"})) {
		t.Error("nothing is ever ruled out")
	}
}
