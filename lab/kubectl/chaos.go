package kubectl

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// faultsTarget is the collection of all Faults.
var faultsTarget = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "faults"}

// profileFiles are the Faults of each profile. A file is a list of names and specs.
//
//go:embed profiles/*.yaml
var profileFiles embed.FS

// profiles returns the names of the profiles.
func profiles() []string {
	entries, err := profileFiles.ReadDir("profiles")
	if err != nil {
		panic(err) // it is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// faultEntry is a Fault in a file.
type faultEntry struct {
	Name               string `json:"name"`
	v1alpha1.FaultSpec `json:",inline"`
}

func newFault(name string, spec v1alpha1.FaultSpec) v1alpha1.Fault {
	return v1alpha1.Fault{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fault"},
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// faultsOf returns the Faults of a profile, for the requests that match.
func faultsOf(profile string, seed int64, match v1alpha1.FaultMatch) ([]v1alpha1.Fault, error) {
	data, err := profileFiles.ReadFile("profiles/" + profile + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("--profile: there is no profile %q; the profiles are %s", profile, strings.Join(profiles(), ", "))
	}
	var entries []faultEntry
	if err := yaml.UnmarshalStrict(data, &entries); err != nil {
		return nil, fmt.Errorf("profile %s: %w", profile, err)
	}
	var faults []v1alpha1.Fault
	for i, e := range entries {
		f := newFault(profile+"-"+e.Name, e.FaultSpec)
		f.Spec.When.Seed = seed + int64(i)
		if e.Inject.Lag == "" { // which is the server's, whoever asks
			f.Spec.Match.Users, f.Spec.Match.UserAgents, f.Spec.Match.Namespaces = match.Users, match.UserAgents, match.Namespaces
		}
		faults = append(faults, f)
	}
	return faults, nil
}

func (o *options) chaos() *cobra.Command {
	var profile string
	var seed int64
	var dryRun bool
	var match v1alpha1.FaultMatch
	cmd := &cobra.Command{
		Use: "chaos [flags]", Short: "Have the server misbehave, as in a profile", Args: cobra.NoArgs,
		Long: `chaos creates the Faults of a profile. The server misbehaves for all clients, or for those that
the flags name, until "kubectl lab calm". What the server itself sees late, as in busy-cluster, it
sees late for all clients. The same seed and the same requests have the same requests hit.
--dry-run with -o yaml prints the Faults, to change them and apply them.`,
		Example: `  kubectl lab chaos --profile flaky-network --agent 'my-operator*'
  kubectl lab chaos --profile slow-cluster --dry-run -o yaml
  kubectl lab calm`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			faults, err := faultsOf(profile, seed, match)
			if err != nil {
				return err
			}
			if !dryRun {
				c, err := o.connect()
				if err != nil {
					return err
				}
				if err := createFaults(cmd.Context(), c, faults); err != nil {
					return err
				}
			}
			if o.output != "" {
				return o.print(list{v1alpha1.GroupVersion.String(), "FaultList", faults})
			}
			for i := range faults {
				o.out.Printf("%s\n", faults[i].Name)
			}
			if !dryRun {
				o.note("the server misbehaves until kubectl lab calm; kubectl get faults shows how often")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&profile, "profile", "flaky-network", "What happens: "+strings.Join(profiles(), ", ")+".")
	flags.Int64Var(&seed, "seed", 1, "Seed of what is random.")
	flags.StringSliceVar(&match.Users, "user", nil, "Users whose requests are hit. An entry may end in a star. If none, all.")
	flags.StringSliceVar(&match.UserAgents, "agent", nil, "User-Agents whose requests are hit. An entry may end in a star. If none, all.")
	flags.StringSliceVarP(&match.Namespaces, "namespace", "n", nil, "Namespaces of the objects. If none, all, and objects without a namespace.")
	flags.BoolVar(&dryRun, "dry-run", false, "Show the Faults, and create none.")
	o.addOutput(cmd)
	complete(cmd, "profile", profiles()...)
	return cmd
}

// createFaults creates Faults in place of those with their names.
func createFaults(ctx context.Context, c *client.Client, faults []v1alpha1.Fault) error {
	for i := range faults {
		t := faultsTarget
		t.Name = faults[i].Name
		if err := c.Delete(ctx, t); err != nil && !isObjectMissing(err) {
			return err
		}
		if err := c.Create(ctx, faultsTarget, &faults[i]); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) calm() *cobra.Command {
	return &cobra.Command{
		Use: "calm", Short: "Delete all Faults: the server behaves again", Args: cobra.NoArgs,
		Long: `calm deletes all Faults, those of chaos and others. No Fault hits it, unless one names the
resource of Faults.`,
		Example: `  kubectl lab calm`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			faults, _, err := client.ListOf[v1alpha1.Fault](cmd.Context(), c, faultsTarget, client.ListOptions{})
			if err != nil {
				return err
			}
			for i := range faults {
				t, f := faultsTarget, v1alpha1.Fault{}
				t.Name = faults[i].Name
				err := c.Get(cmd.Context(), t, &f) // it has the present count, a list that of the last second
				if err == nil {
					err = c.Delete(cmd.Context(), t)
				}
				if apierrors.IsNotFound(err) {
					continue
				}
				if err != nil {
					return err
				}
				o.out.Printf("%s deleted, after %s\n", f.Name, plural(int(f.Status.Injected), "hit"))
			}
			if len(faults) == 0 {
				o.note("there is no fault")
			}
			return nil
		},
	}
}
