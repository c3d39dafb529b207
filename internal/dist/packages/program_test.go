package packages

import "testing"

// TestVersion checks the versions of packages for versions of the Go module.
func TestVersion(t *testing.T) {
	for _, c := range []struct {
		module, want, python string
	}{
		{"v0.1.0", "0.1.0", "0.1.0"},
		{"v0.1.0-rc.1", "0.1.0-rc.1", "0.1.0rc1"},
		{"v1.2.3-beta2", "1.2.3-beta2", "1.2.3b2"},
		{"v0.0.0-20261129194904-5878f624221a", "0.0.0-20261129194904-5878f624221a", "0.0.0.dev20261129194904"},
		{"v0.1.1-0.20261129194904-5878f624221a+dirty", "0.1.1-0.20261129194904-5878f624221a", "0.1.1.dev20261129194904"},
		{"(devel)", "0.0.0-devel", "0.0.0.dev0"},
		{"", "0.0.0-devel", "0.0.0.dev0"},
		{"v0.1.0-nightly", "0.1.0-nightly", ""},
	} {
		v := versionOf(c.module)
		python, err := v.python()
		if string(v) != c.want || python != c.python || (err == nil) != (c.python != "") {
			t.Errorf("%s: %s, for Python %s, %v", c.module, v, python, err)
		}
	}
}

// TestBuildRefuses checks the errors of Build for files that are no servers.
func TestBuildRefuses(t *testing.T) {
	for _, servers := range [][]string{nil, {"program_test.go"}, {"missing"}} {
		if err := Build(t.Context(), "../../../packaging", t.TempDir(), servers...); err == nil {
			t.Errorf("%v: no error", servers)
		}
	}
}
