package main

import (
	"fmt"
	"strings"
)

// Paths of the objects.
const (
	namespace  = "bench"
	namespaced = "/api/v1/namespaces/" + namespace
	configMaps = namespaced + "/configmaps"
	pods       = namespaced + "/pods"
)

// padding brings the size of a ConfigMap to about 1 KB.
var padding = strings.Repeat("x", 900)

func configMapPath(i int) string { return fmt.Sprintf("%s/cm-%06d", configMaps, i) }

// configMap returns the i-th ConfigMap; one in a hundred has the same label shard.
func configMap(i int, value string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap",`+
		`"metadata":{"name":"cm-%06d","labels":{"app":"bench","shard":"s%d"},"annotations":{"bench/value":%q}},`+
		`"data":{"key":"%s","other":"value-%d"}}`, i, i%100, value, padding, i)
}

func pod(i int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%06d","labels":{"app":"bench","shard":"s%d"}},`+
		`"spec":{"nodeName":"node-%d","serviceAccountName":"default","automountServiceAccountToken":false,`+
		`"containers":[{"name":"main","image":"registry.example/app:v%d","args":["--port=8080","--level=info"],`+
		`"env":[{"name":"A","value":"1"},{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],`+
		`"ports":[{"containerPort":8080,"name":"http"}],`+
		`"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},`+
		`"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},`+
		`"volumeMounts":[{"name":"config","mountPath":"/etc/config"}]}],`+
		`"volumes":[{"name":"config","configMap":{"name":"cm-000001"}}]}}`, i, i%100, i%50, i%10)
}
