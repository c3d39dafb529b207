package source

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Write is the main function of a generator that compares declarations: it writes the text to a file,
// whose path is relative to the directory of go generate, or ends the process with the error of text
// and exit status 1.
func Write(output string, text func(context.Context) (string, error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	generated, err := text(ctx)
	if err == nil {
		err = os.WriteFile(output, []byte(generated), 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", output, err)
		os.Exit(1)
	}
}
