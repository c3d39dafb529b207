package kubectl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// requestsTarget is the collection of all Requests.
var requestsTarget = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "requests"}

func (o *options) requests() *cobra.Command {
	var f filter
	var watch bool
	var limit int
	cmd := &cobra.Command{
		Use: "requests [flags]", Aliases: []string{"request", "req"}, Args: cobra.NoArgs,
		Short: "Show the requests that the server got, the newest last",
		Long: `requests shows what clients asked of the server and how it answered, the newest last. With
-w it goes on as requests come. "kubectl lab explain" tells more about one of them.

The requests of kubectl lab itself are left out, unless --agent selects them.`,
		Example: `  kubectl lab requests --errors
  kubectl lab requests -w --user jane --verb create,patch,delete
  kubectl lab requests -n shop --resource deploy --slow 50ms
  kubectl lab requests --code 409 -o yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return fmt.Errorf("--limit: %d is negative; 0 shows all", limit)
			}
			c, err := o.connect()
			if err != nil {
				return err
			}
			if err := f.prepare(cmd, c); err != nil {
				return err
			}
			return (&requestsView{options: o, filter: &f, limit: limit}).run(cmd.Context(), c, watch)
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Go on with requests as they come.")
	cmd.Flags().IntVar(&limit, "limit", 100, "Number of requests to show, the newest; 0 for all.")
	o.addOutput(cmd)
	complete(cmd, "verb", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
	complete(cmd, "code", "2xx", "4xx", "5xx", "400", "403", "404", "409", "422", "429", "500", "503")
	o.completeResources(cmd, "resource")
	return cmd
}

// requestsView writes Requests as a table or as objects.
type requestsView struct {
	*options
	filter *filter
	limit  int
	table  *terminal.Table
	// running are the long requests whose beginning was written.
	running map[string]bool
}

func (v *requestsView) run(ctx context.Context, c *client.Client, watch bool) error {
	v.running = map[string]bool{}
	newest := &newestRequests{limit: v.limit}
	version, err := c.List(ctx, requestsTarget, v.filter.options(), func(item json.RawMessage) error {
		var r v1alpha1.Request
		if err := json.Unmarshal(item, &r); err != nil {
			return fmt.Errorf("the server sent something that is no Request: %w", err)
		}
		if v.wants(&r) {
			newest.add(r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	shown := newest.sorted()
	if v.output != "" && !watch {
		return v.print(requestList(shown))
	}
	v.table = v.out.NewTable("TIME:12", "ID:8", "USER:12", "AGENT:12", "VERB:6", "RESOURCE:20", "NAME:20", "CODE", "TOOK:6", "WHY")
	for i := range shown {
		if err := v.write(&shown[i]); err != nil {
			return err
		}
	}
	if len(shown) == 0 && !watch {
		v.note("no requests match")
		return nil
	}
	if v.output == "" {
		if err := v.table.Flush(); err != nil {
			return err
		}
	}
	if n := newest.seen - len(shown); n > 0 {
		v.note("%s older; --limit 0 shows them", plural(n, "request"))
	}
	if !watch {
		return nil
	}
	return v.follow(ctx, c, version)
}

// follow writes requests as they come.
func (v *requestsView) follow(ctx context.Context, c *client.Client, version string) error {
	for {
		err := c.Watch(ctx, requestsTarget, v.filter.options(), version, func(e client.Event) error {
			var r v1alpha1.Request
			if err := json.Unmarshal(e.Object, &r); err != nil {
				return fmt.Errorf("the server sent something that is no Request: %w", err)
			}
			if e.Type == "DELETED" || !v.wants(&r) {
				delete(v.running, r.Name)
				return nil
			}
			if err := v.write(&r); err != nil || v.output != "" {
				return err
			}
			return v.table.Flush()
		})
		if !errors.Is(err, client.ErrExpired) {
			return err
		}
		v.note("the server dropped requests before they could be shown")
		if version, err = c.List(ctx, requestsTarget, client.ListOptions{FieldSelector: v.filter.options().FieldSelector, MetadataOnly: true},
			func(json.RawMessage) error { return nil }); err != nil {
			return err
		}
	}
}

// wants reports whether a Request is to be shown.
func (v *requestsView) wants(r *v1alpha1.Request) bool {
	return v.filter.matches(r) && (v.filter.agent != "" || !isOwn(r))
}

// isOwn reports whether a Request is one of kubectl lab itself.
func isOwn(r *v1alpha1.Request) bool {
	return len(r.Spec.UserAgent) > len(client.Agent) && r.Spec.UserAgent[:len(client.Agent)+1] == client.Agent+"/"
}

// maxRunning bounds the noted long requests. A server has fewer.
const maxRunning = 100_000

// write writes a Request. One that runs is written if it is a watch or another long one that has an answer already, and again at its
// end.
func (v *requestsView) write(r *v1alpha1.Request) error {
	if r.Status.Phase == v1alpha1.PhaseRunning {
		if r.Status.Code == 0 || v.running[r.Name] || len(v.running) >= maxRunning {
			return nil
		}
		v.running[r.Name] = true
	} else {
		delete(v.running, r.Name)
	}
	if v.output != "" {
		return v.print(withKind(*r))
	}
	s := &r.Spec
	took, code, why := microseconds(r.Status.Microseconds), fmt.Sprint(r.Status.Code), cmp.Or(r.Status.Why, r.Status.Message)
	if r.Status.Phase == v1alpha1.PhaseRunning {
		took = "runs"
	}
	if r.Status.Code == 0 {
		code = "-"
	}
	v.table.Add(terminal.Cell{Text: v.clock(s.Time.Time), Style: terminal.Faint}, terminal.Cell{Text: shortID(r.Name), Style: terminal.Cyan},
		terminal.Text(userText(s.User)), terminal.Text(terminal.Cut(orDash(agent(s.UserAgent)), 32)), terminal.Text(s.Verb),
		terminal.Text(terminal.Cut(resourceName(s), 60)), terminal.Text(terminal.Cut(objectName(s), 60)),
		terminal.Cell{Text: code, Style: codeStyle(r.Status.Code)}, terminal.Text(took), terminal.Text(why))
	return nil
}

// shortID returns the end of an audit ID, by which explain finds it. The beginning is a time, which requests have in common.
func shortID(name string) string {
	const uuid, shown = 36, 8
	if len(name) == uuid && name[8] == '-' && name[23] == '-' {
		return name[uuid-shown:]
	}
	return name
}

// newestRequests keeps the newest Requests of a list, so that a long list needs no more memory than what is shown.
type newestRequests struct {
	limit, seen int
	kept        []v1alpha1.Request
}

func (n *newestRequests) add(r v1alpha1.Request) {
	n.seen++
	n.kept = append(n.kept, r)
	if n.limit > 0 && len(n.kept) >= 2*n.limit+pageOfRequests {
		n.kept = slices.Clip(n.sorted())
	}
}

// pageOfRequests keeps a small limit from sorting after each request.
const pageOfRequests = 500

// sorted returns the newest, the oldest of them first.
func (n *newestRequests) sorted() []v1alpha1.Request {
	slices.SortStableFunc(n.kept, func(a, b v1alpha1.Request) int { return a.Spec.Time.Compare(b.Spec.Time.Time) })
	if n.limit > 0 && len(n.kept) > n.limit {
		n.kept = slices.Clone(n.kept[len(n.kept)-n.limit:])
	}
	return n.kept
}

// list is a list of objects for -o.
type list struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      any    `json:"items"`
}

func requestList(requests []v1alpha1.Request) list {
	items := make([]v1alpha1.Request, 0, len(requests)) // an empty list rather than null
	for _, r := range requests {
		items = append(items, withKind(r))
	}
	return list{v1alpha1.GroupVersion.String(), "RequestList", items}
}

// withKind returns a Request with its kind, which items of lists do not have.
func withKind(r v1alpha1.Request) v1alpha1.Request {
	r.APIVersion, r.Kind = v1alpha1.GroupVersion.String(), "Request"
	return r
}
