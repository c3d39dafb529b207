package client

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig with the server, the user and the namespace of a configuration. The file is readable by
// its owner alone.
func WriteKubeconfig(file string, config *rest.Config, namespace string) error {
	const name = "lab"
	out := api.NewConfig()
	out.CurrentContext = name
	out.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	out.Clusters[name] = &api.Cluster{Server: config.Host + config.APIPath,
		TLSServerName: config.ServerName, InsecureSkipTLSVerify: config.Insecure,
		CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}
	out.AuthInfos[name] = &api.AuthInfo{ClientCertificate: config.CertFile, ClientCertificateData: config.CertData,
		ClientKey: config.KeyFile, ClientKeyData: config.KeyData, Token: config.BearerToken, TokenFile: config.BearerTokenFile,
		Username: config.Username, Password: config.Password, AuthProvider: config.AuthProvider, Exec: config.ExecProvider,
		Impersonate: config.Impersonate.UserName, ImpersonateUID: config.Impersonate.UID, ImpersonateGroups: config.Impersonate.Groups,
		ImpersonateUserExtra: config.Impersonate.Extra}
	return clientcmd.WriteToFile(*out, file)
}

// ReadKubeconfig returns a client for the current context of a kubeconfig.
func ReadKubeconfig(file string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	return New(config)
}

// File returns the kubeconfig that the flags mean, or "" if they mean another server or user than its current context has.
func (f *Flags) File() string {
	for _, name := range []string{"context", "cluster", "server", "token", "certificate-authority", "client-certificate", "client-key",
		"username", "password", "insecure-skip-tls-verify", "tls-server-name", "proxy-url"} {
		if f.set.Changed(name) {
			return ""
		}
	}
	if f.rules.ExplicitPath != "" {
		return f.rules.ExplicitPath
	}
	if len(f.rules.Precedence) == 1 {
		return f.rules.Precedence[0]
	}
	return ""
}

// Other returns a client for another cluster: an address with the user of the flags, or a context of the kubeconfig. It sends no
// requests in the name of another user.
func (f *Flags) Other(urlOrContext string, isURL bool) (*Client, error) {
	overrides := f.overrides
	overrides.AuthInfo.Impersonate, overrides.AuthInfo.ImpersonateGroups = "", nil
	switch {
	case isURL:
		overrides.ClusterInfo.Server = urlOrContext
	case urlOrContext != "":
		overrides.CurrentContext = urlOrContext
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &overrides).ClientConfig()
	if err != nil {
		return nil, err
	}
	return New(config)
}

// Own returns a client for the server of the flags which impersonates nobody.
func (f *Flags) Own() (*Client, error) { return f.Other("", false) }

// Identity returns the user and the groups of --as and --as-group.
func (f *Flags) Identity() rest.ImpersonationConfig {
	a := &f.overrides.AuthInfo
	return rest.ImpersonationConfig{UserName: a.Impersonate, UID: a.ImpersonateUID, Groups: a.ImpersonateGroups, Extra: a.ImpersonateUserExtra}
}

// Namespace returns the namespace of the flags or the kubeconfig.
func (f *Flags) Namespace() string {
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, &f.overrides).Namespace()
	if err != nil {
		return "" // a command without a kubeconfig has no namespace of its own
	}
	return namespace
}
