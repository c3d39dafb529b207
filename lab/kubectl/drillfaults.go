package kubectl

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// defaultFaults are the Faults of a drill that names none, in the form of a profile.
//
//go:embed drill.yaml
var defaultFaults []byte

// allDefaults is the word for all of the default Faults.
const allDefaults = "default"

// drillCase is what happens to a client during a run of a command: one Fault, or all of a profile.
type drillCase struct {
	name   string
	faults []v1alpha1.Fault
}

// defaultCases returns a case for each of the default Faults.
func defaultCases() []drillCase {
	cases, err := decodeCases(defaultFaults)
	if err != nil {
		panic(err) // it is embedded
	}
	return cases
}

// caseNames returns the words of --faults that are no files.
func caseNames() []string {
	names := []string{allDefaults}
	for _, c := range defaultCases() {
		names = append(names, c.name)
	}
	return append(names, profiles()...)
}

// casesOf returns the cases that the words of --faults mean.
func casesOf(words []string, seed int64) ([]drillCase, error) {
	var all []drillCase
	for _, word := range words {
		cases, err := casesOfWord(word, seed)
		if err != nil {
			return nil, fmt.Errorf("--faults: %w", err)
		}
		all = append(all, cases...)
	}
	seen := map[string]bool{}
	for i := range all {
		c := &all[i]
		if seen[c.name] {
			return nil, fmt.Errorf("--faults: there are two faults with the name %q", c.name)
		}
		seen[c.name] = true
		for j := range c.faults {
			f := &c.faults[j]
			f.Name = "drill-" + f.Name
			if f.Spec.When.Seed == 0 {
				f.Spec.When.Seed = seed
			}
		}
	}
	return all, nil
}

func casesOfWord(word string, seed int64) ([]drillCase, error) {
	if word == allDefaults {
		return defaultCases(), nil
	}
	for _, c := range defaultCases() {
		if c.name == word {
			return []drillCase{c}, nil
		}
	}
	if slices.Contains(profiles(), word) {
		faults, err := faultsOf(word, seed, v1alpha1.FaultMatch{})
		return []drillCase{{word, faults}}, err
	}
	data, err := os.ReadFile(word)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%q is neither a file nor one of %s", word, strings.Join(caseNames(), ", "))
	}
	if err != nil {
		return nil, err
	}
	cases, err := decodeCases(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s has no faults", word)
	}
	return cases, nil
}

// decodeCases returns a case for each Fault in a file. A document of it is a list of names and specs, as in a profile, a Fault, or
// a list of Faults.
func decodeCases(data []byte) ([]drillCase, error) {
	var cases []drillCase
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return cases, nil
		}
		if err != nil {
			return nil, err
		}
		faults, err := decodeFaults(document)
		if err != nil {
			return nil, err
		}
		for _, f := range faults {
			if f.Name == "" {
				return nil, errors.New("each fault must have a name")
			}
			cases = append(cases, drillCase{f.Name, []v1alpha1.Fault{f}})
		}
	}
}

func decodeFaults(document []byte) ([]v1alpha1.Fault, error) {
	converted, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(converted, []byte("[")) {
		var entries []faultEntry
		if err := unmarshalStrict(converted, &entries); err != nil {
			return nil, err
		}
		var faults []v1alpha1.Fault
		for _, e := range entries {
			faults = append(faults, newFault(e.Name, e.FaultSpec))
		}
		return faults, nil
	}
	var found struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	err = json.Unmarshal(converted, &found)
	switch {
	case string(converted) == "null":
		return nil, nil // a document of comments
	case err != nil || found.Kind == "":
		return nil, errors.New("a document is neither a list of faults nor a Fault")
	case found.Kind == "Fault":
		found.Items = []json.RawMessage{converted}
	case found.Kind != "FaultList" && found.Kind != "List":
		return nil, fmt.Errorf("%s is not a Fault", found.Kind)
	}
	var faults []v1alpha1.Fault
	for _, item := range found.Items {
		var f v1alpha1.Fault
		if err := unmarshalStrict(item, &f); err != nil {
			return nil, err
		}
		faults = append(faults, newFault(f.Name, f.Spec)) // without what a server has added
	}
	return faults, nil
}

func unmarshalStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// aim has the Faults hit the client that the flags name, or the one that they name themselves.
func aim(cases []drillCase, match v1alpha1.FaultMatch) error {
	for _, c := range cases {
		for i := range c.faults {
			m := &c.faults[i].Spec.Match
			if len(match.Users) > 0 {
				m.Users = match.Users
			}
			if len(match.UserAgents) > 0 {
				m.UserAgents = match.UserAgents
			}
			if len(m.Users) == 0 && len(m.UserAgents) == 0 {
				return fmt.Errorf("which client? --selector, --user or --agent must name it, because %s would hit "+
					"the requests of the command, too; --agent '*' means all clients", c.name)
			}
		}
	}
	return nil
}

// selectedUsers returns the users as which the selected pods send requests: their service accounts. It returns the number of other
// pods with these service accounts, too.
func selectedUsers(ctx context.Context, c *client.Client, selector, namespace string) (users []string, others int, err error) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return nil, 0, fmt.Errorf("--selector: %w", err)
	}
	type pod struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ServiceAccountName string `json:"serviceAccountName"`
		} `json:"spec"`
	}
	pods, _, err := client.ListOf[pod](ctx, c, client.Target{Version: "v1", Resource: "pods", Namespace: namespace}, client.ListOptions{})
	if err != nil {
		return nil, 0, fmt.Errorf("--selector: %w", err)
	}
	userOf := func(p *pod) string { return serviceAccounts + p.Namespace + ":" + p.Spec.ServiceAccountName }
	selected := 0
	for i := range pods {
		if p := &pods[i]; wanted.Matches(labels.Set(p.Labels)) && p.Spec.ServiceAccountName != "" {
			selected++
			if user := userOf(p); !slices.Contains(users, user) {
				users = append(users, user)
			}
		}
	}
	for i := range pods {
		if slices.Contains(users, userOf(&pods[i])) {
			others++
		}
	}
	if selected == 0 {
		where := "any namespace"
		if namespace != "" {
			where = "the namespace " + namespace
		}
		return nil, 0, fmt.Errorf("--selector: no pod in %s has the labels %s; a client that runs elsewhere is named by --user or "+
			"--agent (kubectl lab top shows both)", where, selector)
	}
	return users, others - selected, nil
}
