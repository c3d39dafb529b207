package server_test

import (
	"context"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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

// The options of a server are fields, each with its flag. This server has the API of Kubernetes 1.35, and ends
// requests that take longer than a second.
func ExampleOptions() {
	ctx := context.Background()
	srv, err := server.Start(ctx, server.Options{Emulation: server.Emulation{Version: "1.35", Faithful: true},
		Limits: server.Limits{RequestTimeout: time.Second}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Stop(ctx)

	version, err := kubernetes.NewForConfigOrDie(srv.RESTConfig()).Discovery().ServerVersion()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(version.Major + "." + version.Minor)
	// Output: 1.35
}

// A test of permissions acts as another user: the administrator impersonates it. A user without a role
// may do nothing.
func ExampleServer_RESTConfig() {
	ctx := context.Background()
	srv, err := server.Start(ctx, server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Stop(ctx)
	config := srv.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane"}
	admin, jane := kubernetes.NewForConfigOrDie(srv.RESTConfig()), kubernetes.NewForConfigOrDie(config)

	_, err = jane.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	fmt.Println("without a role, forbidden:", apierrors.IsForbidden(err))

	_, err = admin.RbacV1().RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "jane"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
	}, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for { // the server's authorizer follows the bindings a moment later
		pods, err := jane.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err == nil {
			fmt.Println("with the role view, pods:", len(pods.Items))
			return
		}
		if !apierrors.IsForbidden(err) {
			log.Fatal(err)
		}
	}
	// Output:
	// without a role, forbidden: true
	// with the role view, pods: 0
}
