package credentials

import (
	"fmt"

	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// Names of the cluster and the context in the kubeconfig file.
const (
	clusterName = "kubernetes"
	contextName = "miniapiserver"
)

// Access is the address of the server and the administrator's credentials.
type Access struct {
	URL string
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
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: AdminName, AuthInfo: clientcmd.AuthInfo{
			ClientCertificateData: a.CertPEM,
			ClientKeyData:         a.KeyPEM,
		}}},
		Contexts: []clientcmd.NamedContext{{Name: contextName, Context: clientcmd.Context{
			Cluster:  clusterName,
			AuthInfo: AdminName,
		}}},
		CurrentContext: contextName,
	})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return out, nil
}
