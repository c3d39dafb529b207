package kubectl

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// completionTime bounds what the shell of the user waits for.
const completionTime = 3 * time.Second

// maxCompletions bounds what a shell shows.
const maxCompletions = 200

// completer returns what may follow on a command line.
type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// complete completes a flag with fixed values.
func complete(cmd *cobra.Command, flag string, values ...string) {
	register(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	})
}

// register completes a flag. The only error would be a flag that the command does not have.
func register(cmd *cobra.Command, flag string, f completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// addFlagCompletion completes the flags that all commands have.
func (o *options) addFlagCompletion(root *cobra.Command) {
	complete(root, "color", terminal.Modes...)
	register(root, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return o.flags.Contexts(), cobra.ShellCompDirectiveNoFileComp
	})
	register(root, "namespace", o.fromServer(func(ctx context.Context, c *client.Client, _ []string, start string) []string {
		return names(ctx, c, client.Target{Version: "v1", Resource: "namespaces"}, start)
	}))
}

// fromServer returns a completer that asks the server. If it cannot, there are no suggestions.
func (o *options) fromServer(suggest func(ctx context.Context, c *client.Client, args []string, start string) []string) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		c, err := o.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		parent := cmd.Context()
		if parent == nil {
			parent = context.Background()
		}
		ctx, cancel := context.WithTimeout(parent, completionTime)
		defer cancel()
		found := suggest(ctx, c, args, start)
		directive := cobra.ShellCompDirectiveNoFileComp
		if len(found) == 1 && strings.HasSuffix(found[0], "/") {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found[:min(len(found), maxCompletions)], directive
	}
}

// names returns the names of objects that begin with some letters.
func names(ctx context.Context, c *client.Client, t client.Target, start string) []string {
	var found []string
	// An incomplete list completes as well as it can.
	_, _ = c.List(ctx, t, client.ListOptions{MetadataOnly: true}, func(item json.RawMessage) error {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(item, &object); err != nil {
			return err
		}
		if strings.HasPrefix(object.Name, start) {
			found = append(found, object.Name)
		}
		return nil
	})
	return found
}

// completeRequests completes the names of requests, the newest first.
func (o *options) completeRequests(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
		if len(args) > 0 {
			return nil
		}
		const shown = 50
		newest := &newestRequests{limit: shown}
		_, _ = c.List(ctx, requestsTarget, client.ListOptions{}, func(item json.RawMessage) error {
			var r v1alpha1.Request
			if err := json.Unmarshal(item, &r); err != nil {
				return err
			}
			if strings.HasPrefix(r.Name, start) && !isOwn(&r) {
				newest.add(r)
			}
			return nil
		})
		var found []string
		if strings.HasPrefix(last, start) {
			found = append(found, last+"\tyour newest request")
		}
		for _, r := range slices.Backward(newest.sorted()) {
			s := &r.Spec
			words := strings.Fields(strings.Join([]string{s.User, s.Verb, resourceName(s), objectName(s), answer(r.Status.Code)}, " "))
			found = append(found, r.Name+"\t"+terminal.Escape(strings.Join(words, " ")))
		}
		return found
	})(cmd, args, start)
}

// completeObject completes KIND/NAME and KIND NAME.
func (o *options) completeObject(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
		kind, name, found := strings.Cut(start, "/")
		switch {
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			return objectNames(ctx, c, args[0], start, "")
		case len(args) > 0:
			return nil
		case found:
			return objectNames(ctx, c, kind, name, kind+"/")
		}
		var kinds []string
		for _, r := range resourceNames(ctx, c, start) {
			kinds = append(kinds, r+"/")
		}
		return kinds
	})(cmd, args, start)
}

// objectNames returns the names of the objects that a word means, after a prefix.
func objectNames(ctx context.Context, c *client.Client, kind, start, prefix string) []string {
	object, _, err := c.Object(ctx, []string{kind, "any"})
	if err != nil {
		return nil
	}
	target := object.Target()
	target.Name = ""
	found := names(ctx, c, target, start)
	for i := range found {
		found[i] = prefix + found[i]
	}
	return found
}

// resourceNames returns the resources with objects that begin with some letters.
func resourceNames(ctx context.Context, c *client.Client, start string) []string {
	all, err := c.Resources(ctx)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var found []string
	for _, r := range all {
		name := r.Name
		if seen[name] {
			name = r.String()
		}
		if r.Can("list") && !seen[name] && strings.HasPrefix(name, start) {
			found = append(found, name)
		}
		seen[r.Name], seen[name] = true, true
	}
	return found
}

// completeResources completes a flag with resources.
func (o *options) completeResources(cmd *cobra.Command, flag string) {
	register(cmd, flag, o.fromServer(func(ctx context.Context, c *client.Client, _ []string, start string) []string {
		return resourceNames(ctx, c, start)
	}))
}

// completeVersions completes flags with the resourceVersions of an object.
func (o *options) completeVersions(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		register(cmd, flag, o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
			if len(args) == 0 {
				return nil
			}
			object, _, err := c.Object(ctx, args)
			if err != nil {
				return nil
			}
			changes, err := changesOf(ctx, c, object)
			if err != nil {
				return nil
			}
			var found []string
			for i := range changes {
				if s := &changes[i].Spec; strings.HasPrefix(s.ResourceVersion, start) {
					found = append(found, s.ResourceVersion+"\t"+terminal.Escape(s.User+": "+summary(s)))
				}
			}
			return found
		}))
	}
}

// completeAction completes VERB RESOURCE NAME.
func (o *options) completeAction(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate", "bind", "escalate"}
		return verbs, cobra.ShellCompDirectiveNoFileComp
	}
	return o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
		switch len(args) {
		case 1:
			return resourceNames(ctx, c, start)
		case 2:
			return objectNames(ctx, c, args[1], start, "")
		}
		return nil
	})(cmd, args, start)
}

// completeUsers completes users with the subjects of bindings.
func (o *options) completeUsers(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return o.fromServer(func(ctx context.Context, c *client.Client, args []string, start string) []string {
		if len(args) > 0 {
			return nil
		}
		granted, err := readAccess(ctx, c, c.Namespace, true)
		if err != nil {
			return nil
		}
		var found []string
		for _, b := range granted.bindings {
			for _, s := range b.subjects {
				name := s.Name
				switch s.Kind {
				case "Group":
					continue
				case "ServiceAccount":
					name = "sa/" + s.Namespace + ":" + s.Name
				}
				if strings.HasPrefix(name, start) && !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		}
		return found
	})(cmd, args, start)
}
