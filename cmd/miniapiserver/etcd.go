package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/miniapiserver/miniapiserver/storage/member"
)

// runEtcd runs etcd until a signal and returns its exit status.
func runEtcd(args []string, stdout, stderr io.Writer) int {
	watch := watchParent(args)
	defer watch.removeDirs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	watch.onEnd(stop)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := member.Run(ctx, args, stdout, tuneMemory); err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", asEtcd, oneLine(err))
		return 1
	}
	return 0
}
