package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// writeProfile writes a CPU profile of the server for the next 15 seconds.
func writeProfile(ctx context.Context, server *target, file string) error {
	body, err := server.open(ctx, request{method: http.MethodGet, path: "/debug/pprof/profile?seconds=15"})
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer body.Close()
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	_, err = io.Copy(out, body)
	return errors.Join(err, out.Close())
}
