package server

import (
	"fmt"

	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// What kubeconfig files call the cluster, as others do who make them, and the
// context.
const (
	clusterName = "kubernetes"
	contextName = "miniapiserver"
)

// adminAccess is what a client needs in order to reach the server as its
// administrator.
type adminAccess struct {
	url string
	// ca verifies the serving certificate, serverName being what to look for in
	// it where that is not the host of url.
	ca         []byte
	serverName string
	cert, key  []byte
}

// kubeconfig writes the access as a file that needs no other.
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
