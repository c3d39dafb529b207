package validation

import (
	"math/rand/v2"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// randomName returns a short string of characters and prefixes that the formats distinguish.
func randomName(random *rand.Rand) string {
	pieces := []string{"a", "z", "0", "9", "A", "-", ".", "_", "/", "..", " ", "é", "example.com/", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
	s := ""
	for range random.IntN(6) {
		s += pieces[random.IntN(len(pieces))]
	}
	return s
}

// TestFastPath checks that apimachinery accepts every value that a fast path accepts, and
// that the fast paths accept most valid values.
func TestFastPath(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		fast     func(string) bool
		validate func(string) []string
	}{
		"label":       {FastDNSLabel, utilvalidation.IsDNS1123Label},
		"subdomain":   {fastDNSSubdomain, utilvalidation.IsDNS1123Subdomain},
		"key":         {fastQualifiedName, utilvalidation.IsQualifiedName},
		"label value": {fastLabelValue, utilvalidation.IsValidLabelValue},
		"data key":    {FastDataKey, utilvalidation.IsConfigMapKey},
		"name":        {func(s string) bool { return fastObjectName(s, false) }, func(s string) []string { return apivalidation.NameIsDNSLabel(s, false) }},
		"segment":     {func(s string) bool { return fastObjectName(s, false) }, func(s string) []string { return apivalidation.NameIsDNSSubdomain(s, false) }},
		"prefix":      {func(s string) bool { return fastObjectName(s, true) }, func(s string) []string { return apivalidation.NameIsDNSLabel(s, true) }},
	} {
		valid, fast := 0, 0
		for range 20000 {
			s := randomName(random)
			faults := c.validate(s)
			if len(faults) == 0 {
				valid++
			}
			if c.fast(s) {
				if fast++; len(faults) > 0 {
					t.Fatalf("%s: the fast path accepts %q, which is invalid: %v", name, s, faults)
				}
			}
		}
		if fast < valid/2 {
			t.Errorf("%s: the fast path accepts %d of %d valid values", name, fast, valid)
		}
	}
}
