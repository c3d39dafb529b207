package client

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags are the flags of kubectl that choose the server, the user and the namespace.
type Flags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	set       *pflag.FlagSet
}

// AddTo adds the flags to a set. The flag --user of kubectl is missing, because the commands have one with another meaning:
// --context chooses the user of a kubeconfig as well.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	f.set, f.rules = set, clientcmd.NewDefaultClientConfigLoadingRules()
	set.StringVar(&f.rules.ExplicitPath, "kubeconfig", "", "Path to the kubeconfig file to use for CLI requests.")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.AuthInfoName.LongName = ""
	names.ContextOverrideFlags.Namespace.ShortName = "n"
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(&f.overrides, set, names)
}

// Client returns a client for the flags.
func (f *Flags) Client() (*Client, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides)
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no kubeconfig names a server; set KUBECONFIG, or pass --kubeconfig or --server")
	}
	if err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	c, err := New(config)
	if err != nil {
		return nil, err
	}
	c.Namespace, c.NamespaceSet = namespace, f.set.Changed("namespace")
	return c, nil
}

// TakeGroups returns the groups of --as-group, which then are not those of the user any more.
func (f *Flags) TakeGroups() []string {
	groups := f.overrides.AuthInfo.ImpersonateGroups
	f.overrides.AuthInfo.ImpersonateGroups = nil
	return groups
}

// Contexts returns the names of the contexts in the kubeconfig files.
func (f *Flags) Contexts() []string {
	config, err := f.rules.Load()
	if err != nil {
		return nil // completion has nothing to say about a broken file
	}
	var names []string
	for name := range config.Contexts {
		names = append(names, name)
	}
	return names
}
