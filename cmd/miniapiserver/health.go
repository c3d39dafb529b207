package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// health returns the command that asks a server whether it is ready.
func (c *commands) health() *cobra.Command {
	var dataDir string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "health [flags]", Short: "Ask a running server whether it is ready", Args: noArguments,
		Long: `health asks the server in --data-dir whether it is ready, as its administrator. It ends with
status 0 if it is, and otherwise with 1 and the failed checks. It is for containers, which have
no other program that could ask.`,
		Example: `  miniapiserver health --data-dir=/data`,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := untilStopped()
			defer stop()
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			access, err := credentials.ReadAccess(filepath.Join(dataDir, "admin.kubeconfig"))
			if err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			return askReady(ctx, access)
		},
	}
	addDataDir(cmd.Flags(), &dataDir)
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "Time in which the server must answer.")
	return cmd
}

// askReady returns an error unless the server is ready.
func askReady(ctx context.Context, access credentials.Access) error {
	config, err := access.TLS()
	if err != nil {
		return err
	}
	transport := outbound.Transport(outbound.Config{TLS: config})
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, access.URL+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := outbound.Client(transport).Do(r)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	failed := []string{}
	for line := range strings.Lines(string(body)) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			failed = append(failed, strings.TrimSpace(check))
		}
	}
	return errors.Join(fmt.Errorf("the server is not ready (%s): %s", response.Status, strings.Join(failed, ", ")), err)
}
