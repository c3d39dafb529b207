package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
)

// Names of the cluster and the context in the kubeconfig file.
const (
	clusterName = "kubernetes"
	contextName = "miniapiserver"
)

// Access is the address of the server and the credentials of a user.
type Access struct {
	URL string
	// User is the name of the user.
	User string
	// CA verifies the serving certificate. ServerName is the name to expect in it if that
	// is not the host of url, or "".
	CA              []byte
	ServerName      string
	CertPEM, KeyPEM []byte
}

// Kubeconfig returns a kubeconfig file that contains the credentials.
func (a Access) Kubeconfig() ([]byte, error) {
	out, err := yaml.Marshal(clientcmd.Config{
		Kind:       "Config",
		APIVersion: "v1",
		Clusters: []clientcmd.NamedCluster{{Name: clusterName, Cluster: clientcmd.Cluster{
			Server:                   a.URL,
			TLSServerName:            a.ServerName,
			CertificateAuthorityData: a.CA,
		}}},
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: a.User, AuthInfo: clientcmd.AuthInfo{
			ClientCertificateData: a.CertPEM,
			ClientKeyData:         a.KeyPEM,
		}}},
		Contexts: []clientcmd.NamedContext{{Name: contextName, Context: clientcmd.Context{
			Cluster:  clusterName,
			AuthInfo: a.User,
		}}},
		CurrentContext: contextName,
	})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return out, nil
}

// NamedServer is one of several servers that accept the same credentials.
type NamedServer struct{ Name, URL string }

// KubeconfigOf returns a kubeconfig file with a context for each server, named as it. The first is the current one. The
// CA that verifies the servers is read from caFile: with its content for each server the file would be three times as large.
func (a Access) KubeconfigOf(servers []NamedServer, caFile string) ([]byte, error) {
	config := clientcmd.Config{Kind: "Config", APIVersion: "v1", CurrentContext: servers[0].Name,
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: a.User,
			AuthInfo: clientcmd.AuthInfo{ClientCertificateData: a.CertPEM, ClientKeyData: a.KeyPEM}}}}
	for _, s := range servers {
		config.Clusters = append(config.Clusters, clientcmd.NamedCluster{Name: s.Name,
			Cluster: clientcmd.Cluster{Server: s.URL, TLSServerName: a.ServerName, CertificateAuthority: caFile}})
		config.Contexts = append(config.Contexts, clientcmd.NamedContext{Name: s.Name,
			Context: clientcmd.Context{Cluster: s.Name, AuthInfo: a.User}})
	}
	out, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return out, nil
}

// TLS returns the configuration of a client with the credentials.
func (a Access) TLS() (*tls.Config, error) {
	pair, err := tls.X509KeyPair(a.CertPEM, a.KeyPEM)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CA)
	return &tls.Config{RootCAs: roots, ServerName: a.ServerName, Certificates: []tls.Certificate{pair}}, nil
}

// ReadAccess reads a file that Kubeconfig made.
func ReadAccess(file string) (Access, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return Access{}, err
	}
	c, err := configfile.Decode[clientcmd.Config](data, configfile.Kind{APIVersion: "v1", Kind: "Config"})
	if err != nil {
		return Access{}, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Clusters) != 1 || len(c.AuthInfos) != 1 {
		return Access{}, errors.New(file + ": not a kubeconfig file of this server")
	}
	cluster, user := c.Clusters[0].Cluster, c.AuthInfos[0]
	return Access{
		URL: cluster.Server, CA: cluster.CertificateAuthorityData, ServerName: cluster.TLSServerName,
		User: user.Name, CertPEM: user.AuthInfo.ClientCertificateData, KeyPEM: user.AuthInfo.ClientKeyData,
	}, nil
}
