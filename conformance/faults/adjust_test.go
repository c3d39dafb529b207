package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapiserver/miniapiserver/server"
)

// unsupported begins the line of a process that cannot adjust its disk or its clock.
const unsupported = "unsupported"

// runAdjustable runs a server like runServer, with a disk or a clock that prepare makes
// adjustable: each line of the input of the process is a duration that is set.
func runAdjustable(data []byte, prepare func() (set func(time.Duration), err error)) error {
	set, err := prepare()
	if errors.Is(err, errors.ErrUnsupported) {
		fmt.Println(unsupported, err)
	}
	if err != nil {
		return err
	}
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			value, err := time.ParseDuration(in.Text())
			if err != nil {
				exit(err)
			}
			set(value)
			fmt.Println("set", value)
		}
	}()
	return runServer(data)
}

// adjustment is the delay of the disk, or the shift of the clock, of a server process.
type adjustment struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// startAdjustable starts a server process with a role that has an adjustment, and directs the
// target to it.
func startAdjustable(t *testing.T, role string, o server.Options, tg *target) (*process, *adjustment) {
	t.Helper()
	p := &process{cmd: child(t, role, o)}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &adjustment{t, in, bufio.NewReader(p.out)}
	line, err := d.out.ReadString('\n')
	said := strings.Fields(line)
	switch {
	case strings.HasPrefix(line, unsupported):
		p.kill()
		t.Skip(line)
	case err != nil || len(said) != 3 || said[0] != "ready":
		p.kill()
		t.Fatalf("the server says %q, %v", line, err)
	}
	tg.use(t, &rest.Config{Host: said[1], BearerToken: said[2], TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	return p, d
}

// set sets the delay or the shift.
func (d *adjustment) set(value time.Duration) {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in, value); err != nil {
		d.t.Fatal(err)
	}
	if line, err := d.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "set ") {
		d.t.Fatalf("the server says %q, %v", line, err)
	}
}
