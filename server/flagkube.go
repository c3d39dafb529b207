package server

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/miniapiserver/miniapiserver/authz"
	"github.com/miniapiserver/miniapiserver/internal/coldsort"
)

// kubeFlagsFile lists the flags of kube-apiserver by section of its help, with types
// and defaults.
//
//go:embed kube-apiserver-flags.txt
var kubeFlagsFile string

// kubeFlag is a flag as kube-apiserver's help describes it.
type kubeFlag struct{ Section, Type, Default string }

// kubeFlags returns the flags of kube-apiserver by name, and the sections of its help in
// order.
func kubeFlags() (byName map[string]kubeFlag, sections []string) {
	byName = map[string]kubeFlag{}
	_, lines, _ := strings.Cut(kubeFlagsFile, "\n")
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "# "); ok {
			sections = append(sections, strings.TrimSuffix(title, ":"))
			continue
		}
		flag, initial, _ := strings.Cut(line, " default=")
		name, typeName, _ := strings.Cut(flag, " ")
		byName[strings.TrimPrefix(name, "--")] = kubeFlag{sections[len(sections)-1], typeName, initial}
	}
	return byName, sections
}

// markSections sets the section of the flags that kube-apiserver has.
func markSections(flags []Flag) {
	known, _ := kubeFlags()
	for i := range flags {
		flags[i].Section = known[flags[i].Name].Section
	}
}

// NewKubeAPIServerCommandLine returns a command line with the flags of kube-apiserver
// alone, and its defaults. Its options make a server that writes nothing but a serving
// certificate in --cert-dir, and runs none of the controllers of
// kube-controller-manager.
func NewKubeAPIServerCommandLine() *CommandLine {
	c := &CommandLine{}
	known, sections := kubeFlags()
	c.flags = slices.DeleteFunc(c.table(), func(f Flag) bool {
		_, ok := known[f.Name]
		return !ok
	})
	coldsort.Func(c.flags, func(a, b Flag) int {
		if a.Section != b.Section {
			return slices.Index(sections, a.Section) - slices.Index(sections, b.Section)
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := range c.flags {
		f := &c.flags[i]
		f.Group = f.Section
		if initial, differs := kubeDefaults[f.Name]; differs {
			if err := f.Value.setDefault(initial); err != nil {
				panic("--" + f.Name + ": " + err.Error()) // kubeDefaults is wrong
			}
		}
		if more := kubeChecks[f.Name]; more != nil {
			check := f.Check
			f.Check = func() error {
				if err := more(&c.Options); err != nil || check == nil {
					return err
				}
				return check()
			}
		}
	}
	c.reset()
	c.Controllers = nil
	c.complete = completeKube
	return c
}

// IsKubeAPIServer reports whether c is a command line of kube-apiserver.
func (c *CommandLine) IsKubeAPIServer() bool { return c.complete != nil }

// kubeDefaults are the defaults of kube-apiserver that differ from those of
// miniapiserver.
var kubeDefaults = map[string]string{
	"allow-privileged":         "false",
	"bind-address":             "0.0.0.0",
	"cert-dir":                 "/var/run/kubernetes",
	"service-account-issuer":   "",
	"service-cluster-ip-range": "10.0.0.0/24", // which kube-apiserver assumes for an empty value
}

// kubeChecks are checks that only kube-apiserver makes.
var kubeChecks = map[string]func(*Options) error{
	"etcd-servers":           func(o *Options) error { return required(len(o.Etcd.Servers) > 0) },
	"service-account-issuer": func(o *Options) error { return required(len(o.Authentication.Issuers) > 0) },
	"service-account-signing-key-file": func(o *Options) error {
		return required(o.Authentication.SigningKeyFile != "" || o.Authentication.SigningEndpoint != "")
	},
	"secure-port": func(o *Options) error {
		if o.Serving.Port == 0 {
			return errors.New("0 is not a valid port number between 1 and 65535, inclusive. It cannot be turned off with 0")
		}
		return nil
	},
}

func required(given bool) error {
	if !given {
		return errors.New("must be specified")
	}
	return nil
}

// completeKube fills in what kube-apiserver assumes where flags are missing.
func completeKube(o *Options) error {
	o.NoDataDir = true
	a := &o.Authorization
	if len(a.Modes) == 0 && a.ConfigFile == "" {
		a.Modes = []string{authz.ModeAlwaysAllow}
	}
	return nil
}
