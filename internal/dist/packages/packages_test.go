//go:build packages

package packages

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

const source = "../../../packaging"

var (
	server = flag.String("server", "", "path of a built miniapiserver, of which the packages are made")
	output = flag.String("packages", "", "directory of the packages (default a temporary one)")
)

// TestPackages makes the packages of a server and, for each language, installs them from their files into an empty
// directory, and runs there the tests of the package and the examples of its README. Programs that the machine lacks
// come from Debian's packages, and what the tests for npm need from npm's registry.
func TestPackages(t *testing.T) {
	if *server == "" {
		t.Fatal("-server names no server; make test-packages does")
	}
	install(t)
	dir := *output
	if dir == "" {
		dir = t.TempDir()
	}
	if err := Build(t.Context(), source, dir, *server); err != nil {
		t.Fatal(err)
	}
	for language, test := range map[string]func(*prefix){"npm": testNPM, "python": testPython, "java": testJava, "rust": testRust} {
		t.Run(language, func(t *testing.T) { test(newPrefix(t, dir, language)) })
	}
}

// testNPM installs the tarballs beside the clients and the runners of tests, at the versions of a lock file.
func testNPM(p *prefix) {
	p.copyTests("npm/test", "package.json", "package-lock.json", ".npmrc", "controller.mjs",
		"controller.test.mjs", "client.test.mjs", "faults.test.mjs", "process.test.mjs")
	p.run("npm", "ci", "--ignore-scripts")
	p.run("npm", append([]string{"install", "--no-save", "--ignore-scripts"}, p.packages("*.tgz")...)...)
	p.run("node", "--test", "controller.test.mjs", "client.test.mjs", "faults.test.mjs", "process.test.mjs")
	p.runReadme()
	// Another program that uses the package sees its types.
	p.run("npx", "tsc", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck", "false",
		"--types", "node", "shop.test.ts")
}

// testPython installs the wheel into a virtual environment, which has pytest and the client from Debian.
func testPython(p *prefix) {
	p.copyTests("python/tests", "conftest.py", "controller.py", "test_controller.py", "test_faults.py")
	p.run(python, "-m", "venv", "--system-site-packages", "venv")
	p.environment = append(p.environment, "PATH="+filepath.Join(p.dir, "venv", "bin")+":"+os.Getenv("PATH"))
	p.run("venv/bin/pip", append([]string{"install", "--quiet", "--no-index", "--no-deps"}, p.packages("*.whl")...)...)
	p.run("venv/bin/python", "-m", "pytest", "-q", "test_controller.py", "test_faults.py")
	p.run("venv/bin/miniapiserver", "version")
	p.remove("conftest.py") // the page has another one
	p.runReadme()
}

// testJava compiles and runs tests with the jars and those of Debian. mvn is not used: it would ask Maven's registry.
func testJava(p *prefix) {
	p.copyTests("java/src/test/java/"+javaPackage, "WatchTest.java")
	p.environment = append(p.environment, "CLASSPATH="+classPath(append(p.packages("*.jar"), p.dir)...))
	p.run("javac", "-d", p.dir, "WatchTest.java")
	p.run("java", "org.junit.platform.console.ConsoleLauncher", "--scan-classpath", p.dir, "--fail-if-no-tests", "--disable-banner",
		"--disable-ansi-colors")
	p.runReadme()
}

// testRust runs the tests of the crate, to which the examples of its README belong, and a program that depends on it.
func testRust(p *prefix) {
	binary, err := filepath.Abs(*server)
	if err != nil {
		p.t.Fatal(err)
	}
	p.environment = append(p.environment, "MINIAPISERVER_BINARY="+binary, "CARGO_NET_OFFLINE=true")
	p.run("tar", "--extract", "--strip-components=1", "--one-top-level=crate", "--file", p.packages("*.crate")[0])
	p.run("cargo", "test", "--quiet", "--manifest-path", "crate/Cargo.toml")
	p.run("cargo", "new", "--quiet", "--vcs", "none", "user")
	p.run("cargo", "add", "--quiet", "--manifest-path", "user/Cargo.toml", "--path", "crate")
	p.copyFirstExample("rust", "user/src/main.rs")
	p.run("cargo", "run", "--quiet", "--manifest-path", "user/Cargo.toml")
}
