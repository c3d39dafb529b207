package kubeversion

import "testing"

// TestParse checks the releases for values of both flags, and kube-apiserver's errors.
func TestParse(t *testing.T) {
	for _, c := range []struct{ emulated, compatible, want string }{
		{"1.37", "", "1.37 1.36"},
		{"1.36", "", "1.36 1.35"},
		{"kube=1.35", "", "1.35 1.34"},
		{"1.34", "", "1.34 1.34"},
		{"v1.36", "kube=1.36", "1.36 1.36"},
		{"1.36.0", "1.34", "1.36 1.34"},
		{"1.33", "", "emulation version 1.33 is not between 1.34 and 1.37"},
		{"1.38", "", "emulation version 1.38 is not between 1.34 and 1.37"},
		{"1.35", "1.36", "minimum compatibility version 1.36 is not between 1.34 and 1.35"},
		{"1.36", "1.33", "minimum compatibility version 1.33 is not between 1.34 and 1.36"},
		{"1.36.2", "", "patch version not allowed, got: kube=1.36.2, want 1.36"},
		{"wardle=1.2", "", "component not registered: wardle"},
		{"1.36,1.35", "", "duplicate version flag, kube=1.36 and kube=1.35"},
		{"newest", "", `"newest" is not a minor version such as 1.37`},
	} {
		e, err := Parse(c.emulated, c.compatible)
		got := e.Emulated.String() + " " + e.MinCompatibility.String()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q %q: got %s, want %s", c.emulated, c.compatible, got, c.want)
		}
	}
	if e, err := Parse("", ""); err != nil || e != Default() {
		t.Errorf("%v, %v", e, err)
	}
}
