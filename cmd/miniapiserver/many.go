package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

// many returns the command that runs many servers behind one port.
func (c *commands) many() *cobra.Command {
	var o server.ManyOptions
	flags := server.NewCommandLine()
	cmd := &cobra.Command{
		Use: "many [flags]", Short: "Run many servers behind one port", Args: noArguments,
		Long: `many runs servers named 1 to --count behind one port, at the paths /servers/1 to
/servers/COUNT. Each is a complete API server with its own etcd and objects. It starts
at the first request to its path, and stops when it has had none for --idle; its objects are
there again at the next start. All have the same administrator and the same flags,
which are those of miniapiserver itself (miniapiserver --help-all). Without --data-dir nothing is kept.`,
		Example: `  miniapiserver many --count 1000`,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		flags.Ephemeral = flags.Ephemeral || !cmd.Flags().Changed("data-dir")
		var err error
		if o.Server, err = flags.Complete(); err != nil {
			return err
		}
		o.Server.Logger, o.Server.SetVerbosity = newLogger(c.stderr, flags)
		ctx, stop := untilStopped()
		defer stop()
		return c.runMany(ctx, o)
	}
	addServerFlags(cmd.Flags(), flags)
	cmd.Flags().Lookup("data-dir").DefValue = "" // a directory that is removed at the end
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = f.Name != "data-dir" && f.Name != "secure-port" })
	cmd.Flags().IntVar(&o.Count, "count", 100, "Number of servers.")
	cmd.Flags().DurationVar(&o.Idle, "idle", time.Minute, "Time without requests after which a server stops until the next one. An open watch is a request.")
	cmd.Flags().IntVar(&o.Running, "running", 200, "Maximum number of servers that run at the same time. Another one takes the place of the one that was idle for longest.")
	return cmd
}

// runMany runs servers until ctx is done.
func (c *commands) runMany(ctx context.Context, o server.ManyOptions) error {
	storage.PrepareForMany()
	m, err := server.StartMany(ctx, o)
	if err != nil {
		return err
	}
	kept := "Nothing is kept."
	if !o.Server.Ephemeral() {
		kept = "Data is kept in " + o.Server.Dir + "."
	}
	fmt.Fprintf(c.stdout, `%d servers (Kubernetes %s) are ready to start, at %s to %s

  kubectl --kubeconfig %s --context 1 get namespaces

%s Ctrl-C stops all servers.
`, o.Count, o.Server.Version().GitVersion, m.ServerURL(1), m.ServerURL(o.Count), shellQuote(m.KubeconfigFile), kept)
	tuneMemory()
	<-ctx.Done()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return m.Stop(ctx)
}
