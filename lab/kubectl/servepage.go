package kubectl

import (
	"fmt"
	"net/url"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	labpage "github.com/miniapiserver/miniapiserver/lab/page"
)

func (o *options) servePage() *cobra.Command {
	var open bool
	var port int
	cmd := &cobra.Command{
		Use: "page [--open]", Short: "Serve the page of the lab to your browser", Args: cobra.NoArgs,
		Long: `page serves the page of the lab on a port of 127.0.0.1, with your rights on the server, until
Ctrl-C. The address has a token: whoever has it can read what you can.

A server with --lab-page has the page itself, and prints its address at its start.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			if _, err := checkpoints(cmd.Context(), c); err != nil {
				return err // no lab, or no access
			}
			transport, err := rest.TransportFor(c.Config())
			if err != nil {
				return err
			}
			address, _, err := rest.DefaultServerUrlFor(c.Config())
			if err != nil {
				return err
			}
			config := labpage.Config{API: transport, URL: &url.URL{Scheme: address.Scheme, Host: address.Host}, Token: labpage.NewToken()}
			served, err := labpage.Listen(config, port)
			if err != nil {
				return err
			}
			o.out.Printf("%s\n", served.URL())
			if open {
				if err := o.browse(served.URL()); err != nil {
					o.note("no browser opens: %v", err)
				}
			}
			fmt.Fprintln(o.stderr, "Ctrl-C ends the page. A server with --lab-page has printed the address of its own page at its start.")
			<-cmd.Context().Done()
			return served.Close()
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "Open the page in a browser.")
	cmd.Flags().IntVar(&port, "port", 0, "Port of 127.0.0.1. If 0, a free one.")
	return cmd
}

// openBrowser opens an address with the program of the system for it, which returns at once.
func openBrowser(address string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	return exec.Command(program, address).Run()
}
