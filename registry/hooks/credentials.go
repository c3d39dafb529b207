package hooks

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Credentials are whom the server is to hooks, by their host: those of a file in the
// form of a kubeconfig, of which only users and the current context count.
type Credentials struct {
	byHost  map[string]*credential
	current *credential
}

// credential is what the server shows to a hook.
type credential struct {
	token, tokenFile   string
	username, password string
	certificate        *tls.Certificate
}

// webhookConfiguration is the plugins' own configuration.
type webhookConfiguration struct {
	APIVersion     string `json:"apiVersion"`
	Kind           string `json:"kind"`
	KubeConfigFile string `json:"kubeConfigFile"`
}

// kubeconfig is as much of such a file as counts here.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			User string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Users []struct {
		Name string   `json:"name"`
		User authInfo `json:"user"`
	} `json:"users"`
}

type authInfo struct {
	ClientCertificate     string `json:"client-certificate"`
	ClientCertificateData []byte `json:"client-certificate-data"`
	ClientKey             string `json:"client-key"`
	ClientKeyData         []byte `json:"client-key-data"`
	Token                 string `json:"token"`
	TokenFile             string `json:"tokenFile"`
	Username              string `json:"username"`
	Password              string `json:"password"`
	Exec                  any    `json:"exec"`
	AuthProvider          any    `json:"auth-provider"`
}

// ReadCredentials reads what the plugins are configured by; nothing is no users.
func ReadCredentials(data []byte) (Credentials, error) {
	if len(data) == 0 {
		return Credentials{}, nil
	}
	var c webhookConfiguration
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return Credentials{}, err
	}
	switch gv := c.APIVersion; {
	case c.Kind == "WebhookAdmissionConfiguration" && gv == "apiserver.config.k8s.io/v1":
	case c.Kind == "WebhookAdmission" && gv == "apiserver.config.k8s.io/v1alpha1":
	default:
		return Credentials{}, fmt.Errorf("is of kind %q of %q, and not a WebhookAdmissionConfiguration of \"apiserver.config.k8s.io/v1\"", c.Kind, gv)
	}
	if c.KubeConfigFile == "" {
		return Credentials{}, nil
	}
	if !filepath.IsAbs(c.KubeConfigFile) {
		return Credentials{}, fmt.Errorf("kubeConfigFile must be an absolute file path: %s", c.KubeConfigFile)
	}
	file, err := os.ReadFile(c.KubeConfigFile)
	if err != nil {
		return Credentials{}, err
	}
	return parseUsers(file, filepath.Dir(c.KubeConfigFile))
}

// parseUsers reads a kubeconfig. Files that it names are relative to dir.
func parseUsers(data []byte, dir string) (Credentials, error) {
	var k kubeconfig
	if err := yaml.Unmarshal(data, &k); err != nil {
		return Credentials{}, fmt.Errorf("kubeConfigFile: %w", err)
	}
	u := Credentials{byHost: map[string]*credential{}}
	for i := range k.Users {
		known, err := k.Users[i].User.read(dir)
		if err != nil {
			return Credentials{}, fmt.Errorf("kubeConfigFile: user %q: %w", k.Users[i].Name, err)
		}
		u.byHost[k.Users[i].Name] = known
	}
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext && k.CurrentContext != "" {
			u.current = u.byHost[c.Context.User]
		}
	}
	return u, nil
}

func (a *authInfo) read(dir string) (*credential, error) {
	if a.Exec != nil || a.AuthProvider != nil {
		return nil, errors.New("exec and auth-provider are not supported")
	}
	in := func(file string) string {
		if filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(dir, file)
	}
	u := &credential{token: a.Token, username: a.Username, password: a.Password}
	if a.TokenFile != "" {
		u.tokenFile = in(a.TokenFile)
		if _, err := os.ReadFile(u.tokenFile); err != nil {
			return nil, err
		}
	}
	cert, key := a.ClientCertificateData, a.ClientKeyData
	for _, f := range []struct {
		data *[]byte
		file string
	}{{&cert, a.ClientCertificate}, {&key, a.ClientKey}} {
		if len(*f.data) > 0 || f.file == "" {
			continue
		}
		var err error
		if *f.data, err = os.ReadFile(in(f.file)); err != nil {
			return nil, err
		}
	}
	if len(cert) == 0 && len(key) == 0 {
		return u, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	u.certificate = &pair
	return u, nil
}

// find picks the user for a host with a port: the host itself, then stars in
// the place of its first labels, with the port and, if it is the usual one,
// without; then the star alone, and then that of the current context.
func (u *Credentials) find(host string) *credential {
	names := hostNames(host)
	if name, port, err := net.SplitHostPort(host); err == nil && port == "443" {
		names = append(names, hostNames(name)...)
	}
	for _, name := range append(names, "*") {
		if known := u.byHost[name]; known != nil {
			return known
		}
	}
	if u.current != nil {
		return u.current
	}
	return &credential{}
}

func hostNames(host string) []string {
	names := []string{host}
	labels := strings.Split(host, ".")
	for i := 1; i < len(labels); i++ {
		names = append(names, "*."+strings.Join(labels[i:], "."))
	}
	return names
}

// authenticate adds to a request what shows who sends it. A file with a token is read
// each time, since it changes.
func (u *credential) authenticate(r *http.Request) error {
	token := u.token
	if u.tokenFile != "" {
		data, err := os.ReadFile(u.tokenFile)
		if err != nil {
			return fmt.Errorf("failed to read token file: %w", err)
		}
		token = strings.TrimSpace(string(data))
	}
	switch {
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	case u.username != "" || u.password != "":
		r.SetBasicAuth(u.username, u.password)
	}
	return nil
}
