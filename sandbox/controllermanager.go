package sandbox

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// Ranges of addresses, as kubeadm and kind choose them: of pods, a part of which each node has.
const podCIDR = "10.128.0.0/9"

// controllerManagerFlags returns the flags of the kube-controller-manager: kubeadm's, without what
// several of them or a network need.
func (s *controlPlane) controllerManagerFlags() []string {
	files := s.files
	return append([]string{
		"--kubeconfig=" + s.server.KubeconfigFile, // Config requires one; run replaces it
		"--leader-elect=false",
		"--secure-port=0",
		"--authentication-kubeconfig=" + s.server.KubeconfigFile, // for another port
		"--authorization-kubeconfig=" + s.server.KubeconfigFile,
		"--use-service-account-credentials=true",
		"--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
		"--root-ca-file=" + files.ca,
		"--cluster-signing-cert-file=" + files.ca,
		"--cluster-signing-key-file=" + files.caKey,
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + podCIDR,
		// So that nobody waits.
		"--horizontal-pod-autoscaler-sync-period=5s",
		"--node-monitor-grace-period=20s",
	}, s.options.ControllerManagerArgs...)
}

// controllerManager returns the real kube-controller-manager.
func (s *controlPlane) controllerManager() (component, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return component{}, err
	}
	flags := pflag.NewFlagSet(ControllerManager, pflag.ContinueOnError)
	known, off, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	named := o.Flags(known, off, aliases)
	for _, set := range named.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(s.controllerManagerFlags()); err != nil {
		return component{}, fmt.Errorf("--controller-manager-arg: %w", err)
	}
	if o.Generic.LeaderElection.LeaderElect {
		return component{}, fmt.Errorf("--controller-manager-arg: %w", errLeaderElection)
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return component{}, err
	}
	o.ParsedFlags = &named
	if err := s.kubelet.addPages("/kube-controller-manager", "kube-controller-manager", flagz.NamedFlagSetsReader{FlagSets: named}); err != nil {
		return component{}, err
	}
	return component{ControllerManager, func(ctx context.Context) error {
		c, err := o.Config(ctx, known, off, aliases)
		if err != nil {
			return err
		}
		if c.SecureServing == nil { // the flags give it no port
			if c.SecureServing, err = s.serveHealth(ControllerManager); err != nil {
				return err
			}
		}
		c.Kubeconfig = s.clientConfig("system:kube-controller-manager")
		return registerOnce(app.ConfigzName, c.Kubeconfig, func() error {
			if c.Client, err = kubernetes.NewForConfig(rest.AddUserAgent(c.Kubeconfig, "kube-controller-manager")); err != nil {
				return err
			}
			return app.Run(ctx, c.Complete())
		})
	}}, nil
}
