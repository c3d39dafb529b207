package lab_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapiserver/miniapiserver/lab"
	"github.com/miniapiserver/miniapiserver/server"
)

// The first create of a ConfigMap is refused with 503 and the second one takes effect, but its response is lost.
func ExampleLab_Inject() {
	ctx := context.Background()
	srv, err := server.Start(ctx, server.Options{Lab: server.Lab{Enabled: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Stop(ctx) }()
	creates := lab.Match{Verbs: []string{"create"}, Resources: []string{"configmaps"}, UserAgents: []string{"my-operator"}}
	remove, err := srv.Lab().Inject(ctx, lab.Fault{Match: creates, When: lab.When{Times: 1}, Inject: lab.Error(503)})
	if err != nil {
		log.Fatal(err)
	}
	config := srv.RESTConfig()
	config.UserAgent = "my-operator"
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	create := func() error {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "greeting"}}, metav1.CreateOptions{})
		return err
	}
	fmt.Println("unavailable:", apierrors.IsServiceUnavailable(create()))
	remove()
	if remove, err = srv.Lab().Inject(ctx, lab.Fault{Match: creates, Inject: lab.Lose(lab.TheResponse)}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("an error of the connection:", create() != nil)
	remove()
	fmt.Println("already there:", apierrors.IsAlreadyExists(create()))
	// Output:
	// unavailable: true
	// an error of the connection: true
	// already there: true
}
