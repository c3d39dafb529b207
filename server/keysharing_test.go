package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServersOnOneEtcd checks that servers with the keys of the first one accept the tokens of each other, and that a server
// with keys of its own warns that they differ.
func TestServersOnOneEtcd(t *testing.T) {
	url := externalEtcd(t)
	const warning = "the key of service account tokens is new but the data is not"
	start := func(dir string) (*Server, *lockedBuffer) {
		log := &lockedBuffer{}
		return run(t, Options{Dir: dir, Etcd: Etcd{Servers: []string{url}},
			Logger: slog.New(slog.NewTextHandler(log, nil))}), log
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	first, log := start(dirs[0])
	if strings.Contains(log.String(), "is new but the data is not") {
		t.Error("the first server warns")
	}
	servers := []*Server{first}
	for _, dir := range dirs[1:] {
		if err := os.CopyFS(filepath.Join(dir, "pki"), os.DirFS(filepath.Join(dirs[0], "pki"))); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"sa.key", "ca.key"} { // the copy is readable for others
			if err := os.Chmod(filepath.Join(dir, "pki", name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, log := start(dir)
		if strings.Contains(log.String(), warning) {
			t.Error("a server with the same keys warns")
		}
		servers = append(servers, s)
	}
	stranger, log := start(t.TempDir())
	if !strings.Contains(log.String(), warning) || !strings.Contains(log.String(), "the certificate authority is new but the data is not") {
		t.Error("a server with other keys does not warn")
	}
	accepts := func(s *Server, token string) bool {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		got, err := clientOf(t, s.RESTConfig()).AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Authenticated
	}
	eventually.True(t, "the service account", func() bool {
		_, err := clientOf(t, first.RESTConfig()).CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	for i, issuer := range servers {
		made, err := clientOf(t, issuer.RESTConfig()).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for j, s := range servers {
			if !accepts(s, made.Status.Token) {
				t.Errorf("server %d refuses the token of server %d", j, i)
			}
		}
		if accepts(stranger, made.Status.Token) {
			t.Error("a server with other keys accepts the token")
		}
	}
}
