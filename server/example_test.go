package server_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/server"
)

// A test starts a server of its own, uses it with any client, and stops it.
func ExampleStart() {
	ctx := context.Background()
	srv, err := server.Start(ctx, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Stop(ctx)

	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "greeting"},
		Data:       map[string]string{"text": "hello"},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	found, err := client.CoreV1().ConfigMaps("default").Get(ctx, "greeting", metav1.GetOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Data["text"])
	// Output: hello
}
