// Command etcdlauncher is etcd.exe in an archive for Windows, which can have neither a link nor a script that becomes
// another program: it runs kube-apiserver.exe beside it as etcd. If it is killed, that ends with it, as the servers of such an
// archive end with their parent.
package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	code, err := run()
	if err != nil {
		_, _ = os.Stderr.WriteString("etcd: " + err.Error() + "\n") // package fmt would be a fifth of the program
	}
	os.Exit(code)
}

// run returns the exit status of the server.
func run() (int, error) {
	own, err := os.Executable()
	if err != nil {
		return 1, err
	}
	server := exec.Command(filepath.Join(filepath.Dir(own), "kube-apiserver"+filepath.Ext(own)), append([]string{"etcd"}, os.Args[1:]...)...)
	server.Stdin, server.Stdout, server.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(os.Interrupt) // the console sends Ctrl-C to the server as well, which then ends
	err = server.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
