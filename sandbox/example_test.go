package sandbox_test

import (
	"context"
	"fmt"
	"log"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/sandbox"
)

// A sandbox is a cluster in the process: controllers, a scheduler, and nodes whose pods run as far as the
// API shows. This one has three nodes.
func ExampleNew() {
	ctx := context.Background()
	s, err := sandbox.New(ctx, sandbox.Options{Nodes: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Stop(ctx)

	nodes, err := kubernetes.NewForConfigOrDie(s.RESTConfig()).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(nodes.Items), "nodes")
}
