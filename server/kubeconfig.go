package server

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

// adminAccess has the address of the server and the administrator's credentials.
type adminAccess struct {
	url string
	// ca verifies the serving certificate. serverName is the name to expect in it if that
	// is not the host of url, or "".
	ca         []byte
	serverName string
	cert, key  []byte
}

// kubeconfig returns a kubeconfig file that contains the credentials.
func (a adminAccess) kubeconfig() ([]byte, error) {
	out, err := yaml.Marshal(clientcmd.Config{
		Kind:       "Config",
		APIVersion: "v1",
		Clusters: []clientcmd.NamedCluster{{Name: clusterName, Cluster: clientcmd.Cluster{
			Server:                   a.url,
			TLSServerName:            a.serverName,
			CertificateAuthorityData: a.ca,
		}}},
		AuthInfos: []clientcmd.NamedAuthInfo{{Name: adminName, AuthInfo: clientcmd.AuthInfo{
			ClientCertificateData: a.cert,
			ClientKeyData:         a.key,
		}}},
		Contexts: []clientcmd.NamedContext{{Name: contextName, Context: clientcmd.Context{
			Cluster:  clusterName,
			AuthInfo: adminName,
		}}},
		CurrentContext: contextName,
	})
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return out, nil
}
