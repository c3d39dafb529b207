// Command linux makes what a release has for Linux alone: packages for Debian and Red Hat, and a container image. It is a
// module of its own, so that its libraries are not among the dependencies of the server.
//
// Its input is the directory of a release with the programs and the man page, into which it writes as well. All times are
// the same, so that the same programs give the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// buildTime is the time of all files.
var buildTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// release is the release that is made.
type release struct{ dir, version string }

// arches returns the architectures of the programs, by the names of Go.
func (r release) arches() (arches []string) {
	const prefix = "miniapiserver-linux-"
	files, _ := filepath.Glob(filepath.Join(r.dir, "programs", prefix+"*")) // the pattern is well formed
	for _, file := range files {
		arches = append(arches, strings.TrimPrefix(filepath.Base(file), prefix))
	}
	return arches
}

func (r release) program(arch string) string {
	return filepath.Join(r.dir, "programs", "miniapiserver-linux-"+arch)
}

func main() {
	var r release
	flag.StringVar(&r.dir, "dir", "", "Directory of the release.")
	flag.StringVar(&r.version, "version", "", "Version of the release, such as 0.1.0.")
	flag.Parse()
	if r.dir == "" || r.version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := errors.Join(r.packages(), r.image()); err != nil {
		fmt.Fprintln(os.Stderr, "linux:", err)
		os.Exit(1)
	}
}
