package hooks

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/reload"
)

// Credentials are the server's credentials for webhooks, by host. They come from a file in
// the format of a kubeconfig, of which only the users and the current context are used. The file
// and the files that it names are read again when they change.
type Credentials struct {
	users *reload.Value[users] // nil if there are no credentials
}

// users are the users of a kubeconfig.
type users struct {
	byHost  map[string]*credential
	current *credential
}

// credential authenticates the server to a webhook.
type credential struct {
	token, tokenFile   string
	username, password string
	certificate        *tls.Certificate
}

// Settings are the configuration of a webhook admission plugin.
type Settings struct {
	configfile.Kind
	// KubeConfigFile is the absolute path of the file with the credentials; empty means none.
	KubeConfigFile string `json:"kubeConfigFile"`
	// StaticManifestsDir is the directory with webhook configurations; empty means none.
	StaticManifestsDir string `json:"staticManifestsDir,omitempty"`
}

// kubeconfig has the used fields of a kubeconfig.
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

// ReadSettings reads the configuration of a webhook admission plugin; no data means the defaults.
func ReadSettings(data []byte) (*Settings, error) {
	if len(data) == 0 {
		return &Settings{}, nil
	}
	alpha := configfile.Kind{APIVersion: "apiserver.config.k8s.io/v1alpha1", Kind: "WebhookAdmission"}
	c, err := configfile.Decode[Settings](data,
		configfile.Kind{APIVersion: "apiserver.config.k8s.io/v1", Kind: "WebhookAdmissionConfiguration"}, alpha)
	if err != nil {
		return nil, err
	}
	if c.Kind == alpha && c.StaticManifestsDir != "" {
		return nil, errors.New(`strict decoding error: unknown field "staticManifestsDir"`)
	}
	if c.KubeConfigFile != "" && !filepath.IsAbs(c.KubeConfigFile) {
		return nil, fmt.Errorf("kubeConfigFile must be an absolute file path: %s", c.KubeConfigFile)
	}
	return c, nil
}

// Credentials reads the credentials of the plugin. A nil logger discards all messages.
func (c *Settings) Credentials(logger *slog.Logger) (Credentials, error) {
	if c.KubeConfigFile == "" {
		return Credentials{}, nil
	}
	users, err := reload.New("credentials for webhooks", logger, func(files *reload.Files) (users, error) {
		return readUsers(c.KubeConfigFile, files)
	})
	return Credentials{users}, err
}

// readUsers reads a kubeconfig. The file names in it are relative to its directory.
func readUsers(path string, files *reload.Files) (users, error) {
	u := users{byHost: map[string]*credential{}}
	data, err := files.Read(path)
	if err != nil {
		return u, err
	}
	k, _, err := configfile.DecodeLenient[kubeconfig](data)
	if err != nil {
		return u, fmt.Errorf("kubeConfigFile %s: %w", path, err)
	}
	for i := range k.Users {
		found, err := k.Users[i].User.read(filepath.Dir(path), files)
		if err != nil {
			return u, fmt.Errorf("kubeConfigFile %s: user %q: %w", path, k.Users[i].Name, err)
		}
		u.byHost[k.Users[i].Name] = found
	}
	for _, c := range k.Contexts {
		if c.Name == k.CurrentContext && k.CurrentContext != "" {
			u.current = u.byHost[c.Context.User]
		}
	}
	return u, nil
}

// read reads the files of a user.
func (a *authInfo) read(dir string, files *reload.Files) (*credential, error) {
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
		if _, err := configfile.Read(u.tokenFile); err != nil {
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
		if *f.data, err = files.Read(in(f.file)); err != nil {
			return nil, err
		}
	}
	if len(cert) == 0 && len(key) == 0 {
		return u, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client-certificate %q, client-key %q: %w", a.ClientCertificate, a.ClientKey, err)
	}
	u.certificate = &pair
	return u, nil
}

// find returns the credential for a host with a port. It looks up the host itself, then
// patterns with * in place of its first labels, both with the port and, for port 443,
// without. The pattern * and the user of the current context come last.
func (c *Credentials) find(host string) *credential {
	if c.users == nil {
		return &credential{}
	}
	u := c.users.Get()
	names := hostNames(host)
	if name, port, err := net.SplitHostPort(host); err == nil && port == "443" {
		names = append(names, hostNames(name)...)
	}
	for _, name := range append(names, "*") {
		if found := u.byHost[name]; found != nil {
			return found
		}
	}
	if u.current != nil {
		return u.current
	}
	return &credential{}
}

// hostNames returns the names by which a host is looked up.
func hostNames(host string) []string {
	names := []string{host}
	labels := strings.Split(host, ".")
	for i := 1; i < len(labels); i++ {
		names = append(names, "*."+strings.Join(labels[i:], "."))
	}
	return names
}

// authenticate adds the credential to a request. A token file is read each time, because it
// changes.
func (u *credential) authenticate(r *http.Request) error {
	token := u.token
	if u.tokenFile != "" {
		data, err := configfile.Read(u.tokenFile)
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
