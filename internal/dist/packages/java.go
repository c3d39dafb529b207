package packages

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/dist/archive"
)

// javaDir is where Debian installs jars, and junitAPI what the extension is compiled against.
const (
	javaDir  = "/usr/share/java"
	junitAPI = javaDir + "/junit-jupiter-api.jar:" + javaDir + "/junit-platform-commons.jar:" + javaDir + "/apiguardian-api.jar"
)

// javaPackage is the directory of the classes in a jar.
const javaPackage = "io/github/miniapiserver/"

// jars makes the artifact miniapiserver: a jar with the classes, a jar with each program, whose classifier is the
// platform, and the pom.
func (b *builder) jars(ctx context.Context, to string) error {
	if _, err := os.Stat(filepath.Join(javaDir, "junit-jupiter-api.jar")); err != nil {
		return fmt.Errorf("the extension needs JUnit 5, which Debian has in the package junit5: %w", err)
	}
	source := filepath.Join(b.source, "java")
	base := filepath.Join(to, "miniapiserver-"+string(b.version))
	pom, err := os.ReadFile(filepath.Join(source, "pom.xml"))
	if err == nil {
		err = os.WriteFile(base+".pom", []byte(strings.Replace(string(pom), "@VERSION@", string(b.version), 1)), 0o644)
	}
	if err != nil {
		return err
	}
	for _, p := range b.programs {
		content, err := os.ReadFile(p.file)
		if err != nil {
			return err
		}
		dir := javaPackage + p.goos + "-" + p.goarch + "/"
		if err := b.jar(base+"-"+p.goos+"-"+p.goarch+".jar", []archive.Entry{
			{Name: dir + p.name(), File: p.file, Mode: 0o755},
			{Name: dir + "sha256", Text: fmt.Sprintf("%x", sha256.Sum256(content)), Mode: 0o644},
		}); err != nil {
			return err
		}
	}
	return scratch(func(classes string) error {
		files, err := filepath.Glob(filepath.Join(source, "src/main/java", javaPackage, "*.java"))
		if err != nil || len(files) == 0 {
			return errors.Join(errors.New("there are no sources"), err)
		}
		args := append([]string{"--release", "11", "-Xlint:all", "-Werror", "-g", "-classpath", junitAPI, "-d", classes}, files...)
		if err := run(ctx, ".", "javac", args...); err != nil {
			return err
		}
		entries, err := filesBelow(classes, "", ".class")
		if err != nil {
			return err
		}
		return b.jar(base+".jar", entries)
	})
}

// jar writes a jar, which is an archive that begins with a manifest.
func (b *builder) jar(to string, entries []archive.Entry) error {
	manifest := "Manifest-Version: 1.0\r\nImplementation-Title: miniapiserver\r\nImplementation-Version: " + string(b.version) +
		"\r\nAutomatic-Module-Name: io.github.miniapiserver\r\n\r\n"
	return archive.WriteZip(to, append([]archive.Entry{
		{Name: "META-INF/MANIFEST.MF", Text: manifest, Mode: 0o644},
		{Name: "META-INF/LICENSE", File: b.license(), Mode: 0o644},
	}, entries...))
}
