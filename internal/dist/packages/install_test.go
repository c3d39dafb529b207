//go:build packages

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python is the interpreter for which Debian has the client of Kubernetes and pytest.
const python = "/usr/bin/python3"

// needs are the packages of Debian with what the tests use, each with a command that succeeds if it is there.
var needs = map[string][]string{
	"npm":                  {"npm", "--version"},
	"default-jdk-headless": {"javac", "--version"},
	"junit5":               {"ls", filepath.Join(javaDir, "junit-platform-console.jar")},
	"cargo":                {"cargo", "--version"},
	"python3-venv":         {python, "-c", "import ensurepip, venv"},
	"python3-pytest":       {python, "-c", "import pytest"},
	"python3-kubernetes":   {python, "-c", "import kubernetes"},
}

// install installs what the machine lacks.
func install(t *testing.T) {
	t.Helper()
	var lacking []string
	for name, probe := range needs {
		if exec.CommandContext(t.Context(), probe[0], probe[1:]...).Run() != nil {
			lacking = append(lacking, name)
		}
	}
	if len(lacking) == 0 {
		return
	}
	for _, args := range [][]string{
		{"apt-get", "update", "--quiet"},
		append([]string{"apt-get", "install", "--yes", "--quiet", "--no-install-recommends"}, lacking...),
	} {
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("this machine lacks what Debian has in %s: %v\n%s", strings.Join(lacking, ", "), err, out)
		}
	}
}

// classPath returns the class path of tests: some files, and JUnit with its console as Debian installs it.
func classPath(files ...string) string {
	for _, name := range []string{
		"junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params", "junit-platform-commons", "junit-platform-console",
		"junit-platform-engine", "junit-platform-launcher", "junit-platform-reporting", "apiguardian-api", "opentest4j",
		"opentest4j-reporting-events", "opentest4j-reporting-schema", "picocli",
	} {
		files = append(files, filepath.Join(javaDir, name+".jar"))
	}
	return strings.Join(files, string(os.PathListSeparator))
}
