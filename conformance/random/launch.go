package random

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Processes are the running programs of a server.
type Processes struct {
	// URL is that of the server.
	URL string

	commands []*exec.Cmd
}

// tokens are the users of the servers, as --token-auth-file reads them.
const tokens = `admin-token,admin,admin-uid,"system:masters"
alice-token,alice,alice-uid,"dev,qa"
bob-token,bob,bob-uid
`

// common are the flags that both servers get.
func common(port int, dir string) []string {
	return []string{
		fmt.Sprintf("--secure-port=%d", port), "--bind-address=127.0.0.1", "--token-auth-file=" + filepath.Join(dir, "tokens.csv"), "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--enable-bootstrap-token-auth=true", "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range=10.96.0.0/16",
	}
}

// controllers are the controllers of kube-controller-manager that this server has built in.
var controllers = []string{
	"namespace-controller", "serviceaccount-controller", "serviceaccount-token-controller", "garbage-collector-controller", "resourcequota-controller", "clusterrole-aggregation-controller",
	"root-ca-certificate-publisher-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller", "volumeattributesclass-protection-controller", "validatingadmissionpolicy-status-controller",
	"service-cidr-controller", "token-cleaner-controller", "bootstrap-signer-controller", "certificatesigningrequest-approving-controller", "certificatesigningrequest-cleaner-controller", "certificatesigningrequest-signing-controller",
}

// LaunchSubject starts this server with the binary and keeps nothing on disk but what is in dir.
func LaunchSubject(ctx context.Context, binary, dir string) (*Processes, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	p := &Processes{URL: fmt.Sprintf("https://127.0.0.1:%d", port)}
	return p.after(ctx, p.start(dir, binary, append(common(port, dir), "--ephemeral")...))
}

// LaunchReference starts etcd, kube-apiserver and kube-controller-manager, whose binaries are in a
// folder, with their files in dir.
func LaunchReference(ctx context.Context, binaries, dir string) (*Processes, error) {
	keys, err := writeKeys(dir)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	var ports [3]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	p := &Processes{URL: fmt.Sprintf("https://127.0.0.1:%d", ports[2])}
	err = p.start(dir, filepath.Join(binaries, "etcd"), "--data-dir="+filepath.Join(dir, "etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer, "--unsafe-no-fsync", "--log-level=error")
	if err == nil {
		err = p.start(dir, filepath.Join(binaries, "kube-apiserver"), append(common(ports[2], dir), "--etcd-servers="+etcd, "--tls-cert-file="+keys.certificate, "--tls-private-key-file="+keys.key,
			"--client-ca-file="+keys.certificate, "--service-account-key-file="+keys.signing, "--service-account-signing-key-file="+keys.signing)...)
	}
	if _, err := p.after(ctx, err); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {token: admin-token}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n", p.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	err = p.start(dir, filepath.Join(binaries, "kube-controller-manager"), "--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0", "--service-account-private-key-file="+keys.signing,
		"--root-ca-file="+keys.certificate, "--cluster-signing-cert-file="+keys.certificate, "--cluster-signing-key-file="+keys.key, "--concurrent-gc-syncs=20",
		"--kube-api-qps=500", "--kube-api-burst=500", "--controllers="+strings.Join(controllers, ","))
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// after waits until the server is ready, if nothing failed before, and stops what was started otherwise.
func (p *Processes) after(ctx context.Context, err error) (*Processes, error) {
	if err == nil {
		err = p.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// start starts a program that ends with this process and writes its log into dir.
func (p *Processes) start(dir, program string, arguments ...string) error {
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(program, arguments...)
	c.Stdout, c.Stderr, c.Dir = log, log, dir
	if err := c.Start(); err != nil {
		return err
	}
	p.commands = append(p.commands, c)
	return nil
}

// ready waits until the server says that it is ready.
func (p *Processes) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: see the logs of the servers: %w", p.URL, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Stop ends the programs, the one that was started last first.
func (p *Processes) Stop() error {
	var errs []error
	for i := len(p.commands) - 1; i >= 0; i-- {
		c := p.commands[i]
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			errs = append(errs, err)
		}
		late := time.AfterFunc(10*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait() // programs end with their own codes after a signal
		late.Stop()
	}
	p.commands = nil
	return errors.Join(errs...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// keyFiles are paths of files.
type keyFiles struct{ certificate, key, signing string }

// writeKeys makes a certificate authority that is also the certificate of the server, and the key that
// signs tokens.
func writeKeys(dir string) (keyFiles, error) {
	files := keyFiles{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"), filepath.Join(dir, "sa.key")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "reference"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return files, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return files, err
	}
	signing, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return files, err
	}
	for _, f := range []struct {
		path, kind string
		content    []byte
	}{
		{files.certificate, "CERTIFICATE", certificate},
		{files.key, "EC PRIVATE KEY", private},
		{files.signing, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(signing)},
	} {
		if err := os.WriteFile(f.path, pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.content}), 0o600); err != nil {
			return files, err
		}
	}
	return files, nil
}
