package pod

import (
	"strings"
	"testing"
)

func TestImageTag(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"nginx":                                 "latest",
		"nginx:1":                               "1",
		"nginx:latest" + digest:                 "latest",
		"nginx" + digest:                        "",
		"nginx@sha256:abc":                      "",
		"registry.example:5000/a/b_c.d--e__f":   "latest",
		"registry.example:5000/a:v1":            "v1",
		"localhost/a":                           "latest",
		"[::1]:5000/a":                          "latest",
		"Upper":                                 "",
		"UPPER/a":                               "latest",
		"a/Upper":                               "",
		"a..b":                                  "",
		"-a":                                    "",
		"a-":                                    "",
		"a//b":                                  "",
		"a:":                                    "",
		"a:-x":                                  "",
		"":                                      "",
		"host.example:port/a":                   "",
		strings.Repeat("a", 64):                 "",
		strings.Repeat("a", 63):                 "latest",
		strings.Repeat("x", 256):                "",
		"a:" + strings.Repeat("t", maxImageTag): strings.Repeat("t", maxImageTag),
		"a:" + strings.Repeat("t", 129):         "",
	} {
		if got := imageTag(image); got != want {
			t.Errorf("imageTag(%q) = %q, want %q", image, got, want)
		}
	}
}
