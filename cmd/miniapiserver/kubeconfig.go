package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/internal/safefile"
	"github.com/miniapiserver/miniapiserver/server/credentials"
)

// kubeconfig returns the command that makes kubeconfig files for users.
func (c *commands) kubeconfig() *cobra.Command {
	var dataDir, certDir, user, url, output string
	var groups []string
	var lifetime time.Duration
	cmd := &cobra.Command{
		Use: "kubeconfig --user NAME [flags]", Short: "Make a kubeconfig file for a user", Args: noArguments,
		Long: `kubeconfig issues a client certificate for a user and prints a kubeconfig file with it.
It signs with the certificate authority of the server in --data-dir, which it must be able to
read. It asks no server, which need not run. A certificate cannot be revoked: choose a short
lifetime, or give the user no permissions any more. The user has none at first.`,
		Example: `  miniapiserver kubeconfig --user jane --group developers > jane.kubeconfig
  kubectl create clusterrolebinding jane --clusterrole=view --user=jane`,
		RunE: func(*cobra.Command, []string) error {
			if user == "" {
				return errors.New("--user: must not be empty (see --help)")
			}
			if lifetime <= 0 {
				return fmt.Errorf("--lifetime: %v is not a positive duration", lifetime)
			}
			access, err := credentials.ReadAccess(filepath.Join(dataDir, "admin.kubeconfig"))
			if err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			now := time.Now()
			pair, err := credentials.IssueClient(cmp.Or(certDir, filepath.Join(dataDir, "pki")), user, groups, now, now.Add(lifetime))
			if err != nil {
				return err
			}
			access.URL = cmp.Or(url, access.URL)
			access.User, access.CertPEM, access.KeyPEM = user, pair.CertPEM, pair.KeyPEM
			file, err := access.Kubeconfig()
			if err != nil {
				return err
			}
			if output != "" {
				return safefile.Write(output, file, 0o600, false)
			}
			_, err = c.stdout.Write(file)
			return err
		},
	}
	fs := cmd.Flags()
	addDataDir(fs, &dataDir)
	fs.StringVar(&certDir, "cert-dir", "", "Directory of the server's certificate authority. If empty, the directory pki in --data-dir.")
	fs.StringVar(&user, "user", "", "Name of the user.")
	fs.StringSliceVar(&groups, "group", nil, "Group of the user. May be given several times.")
	fs.DurationVar(&lifetime, "lifetime", 365*24*time.Hour, "Lifetime of the certificate.")
	fs.StringVar(&url, "server", "", "URL of the server in the file. If empty, the one in admin.kubeconfig.")
	fs.StringVarP(&output, "output", "o", "", "File to write, which only its owner can read. If empty, the standard output.")
	return cmd
}
