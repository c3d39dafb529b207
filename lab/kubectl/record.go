package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// recordingsTarget is the collection of all Recordings.
var recordingsTarget = client.Target{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "recordings"}

// recordFlags are the flags of record.
type recordFlags struct {
	file, har string
	spec      v1alpha1.RecordingSpec
}

func (o *options) record() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use: "record [-o FILE] [--har FILE] [flags] [-- COMMAND]", Args: commandAfterDash,
		Short: "Record the requests of a command and their answers, for replay",
		Long: `record runs a command, such as a test, an operator or kubectl, and writes what it asked of the
server and what the server answered, with the times and the events of watches, to a file
for "kubectl lab replay". It records this command and nothing else, whoever talks to the
server meanwhile. Its exit status is that of the command.

The command has KUBECONFIG in its environment, with an address of the server that is for
this recording alone; the server serves it as its own. KUBECACHEDIR is an empty
directory, so that what kubectl asks about the API is recorded as well. A command that
brings its own address is not recorded.

Without a command, it records the requests of all clients that match until Ctrl-C.

Contents of Secrets, tokens, private keys and credentials in kubeconfigs are not in the
file: each has a placeholder, the same for the same value. Requests for objects that you
may not get are left out. What goes to pods (exec, logs, port-forward) is not recorded.`,
		Example: `  kubectl lab record -- kubectl apply -f manifests/
  kubectl lab record -o session.jsonl --har session.har -- go test ./e2e
  kubectl lab record -o operator.jsonl --agent 'my-operator*'`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.runRecord(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "output", "o", "recording.jsonl", "File to write the recording to. It is replaced.")
	flags.StringVar(&f.har, "har", "", "File to write the recording to as an HTTP archive, which the tools of browsers read. If empty, none.")
	flags.StringSliceVar(&f.spec.Match.Users, "user", nil, "Users whose requests are recorded. An entry may end in a star. If none, all.")
	flags.StringSliceVar(&f.spec.Match.UserAgents, "agent", nil,
		"User-Agents whose requests are recorded. An entry may end in a star. If none, all.")
	flags.StringSliceVar(&f.spec.Match.Verbs, "verb", nil, "Verbs that are recorded, such as get or watch. If none, all.")
	flags.StringSliceVar(&f.spec.Match.Resources, "resource", nil,
		"Resources that are recorded, such as deployments.apps. If none, all, and other paths.")
	flags.Int64Var(&f.spec.Limits.Bytes, "max-bytes", 0,
		"Maximum size of what the server keeps, in bytes. If 0, a quarter of its --lab-memory.")
	flags.Int64Var(&f.spec.Limits.Requests, "max-requests", 0, "Maximum number of requests. If 0, 100000.")
	complete(cmd, "verb", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
	register(cmd, "resource", o.fromServer(func(ctx context.Context, c *client.Client, _ []string, start string) []string {
		all, err := c.Resources(ctx)
		if err != nil {
			return nil
		}
		var found []string
		for _, r := range all {
			if name := r.String(); strings.HasPrefix(name, start) {
				found = append(found, name)
			}
		}
		return found
	}))
	return cmd
}

func (o *options) runRecord(ctx context.Context, f *recordFlags, command []string) (err error) {
	c, err := o.flags.Own()
	if err != nil {
		return err
	}
	f.spec.Addressed = len(command) > 0
	made := &v1alpha1.Recording{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Recording"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "record-"}, Spec: f.spec}
	if err := c.Create(ctx, recordingsTarget, made); err != nil {
		return err
	}
	t := recordingsTarget
	t.Name = made.Name
	defer func() {
		later, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
		defer cancel()
		err = errors.Join(err, c.Delete(later, t))
	}()
	if len(command) > 0 {
		err = o.runRecorded(ctx, made.Name, command)
	} else {
		o.note("recording until Ctrl-C")
		<-ctx.Done()
	}
	if failed := (*exitStatus)(nil); err != nil && !errors.As(err, &failed) {
		return err
	}
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), downloadTime)
	defer cancel()
	if saveErr := o.saveRecording(later, c, t, f); saveErr != nil {
		return saveErr
	}
	return err
}

// runRecorded runs a command with the address of a recording.
func (o *options) runRecorded(ctx context.Context, name string, command []string) error {
	own, err := o.connect()
	if err != nil {
		return err
	}
	config := own.Config()
	config.Host = strings.TrimSuffix(config.Host, "/") + v1alpha1.RecordingAddress + name
	file, remove, err := writeTemporary(config, o.flags.Namespace())
	if err != nil {
		return err
	}
	defer remove()
	return o.runCommand(ctx, command, file, o.stdout, "KUBECACHEDIR="+filepath.Join(filepath.Dir(file), "cache"))
}

const (
	// downloadTime bounds the download of a recording.
	downloadTime = time.Minute
	// closeTime is the time in which the requests of a command that has ended are to end.
	closeTime = 3 * time.Second
)

// saveRecording stops a recording and writes its files.
func (o *options) saveRecording(ctx context.Context, c *client.Client, t client.Target, f *recordFlags) error {
	recorded, err := awaitClosed(ctx, c, t, f.spec.Addressed)
	if err != nil {
		return err
	}
	files := []string{f.file}
	if err := o.download(ctx, c, t, "", f.file); err != nil {
		return err
	}
	if f.har != "" {
		files = append(files, f.har)
		if err := o.download(ctx, c, t, "har", f.har); err != nil {
			return err
		}
	}
	s := &recorded.Status
	fmt.Fprintf(o.stderr, "Recorded %s and %s to %s.\n", plural(int(s.Requests), "request"), plural(int(s.Events), "event"),
		strings.Join(files, " and "))
	if s.Reason != "" {
		o.note("the recording is not complete: %s", s.Reason)
	}
	if s.LeftOut > 0 {
		o.note("left out: %s to pods, nodes or services", plural(int(s.LeftOut), "connection"))
	}
	if s.Requests == 0 {
		o.note("nothing was recorded; the command has the address of the recording in $KUBECONFIG")
	}
	return nil
}

// awaitClosed stops a recording, after the requests of its command have ended.
func awaitClosed(ctx context.Context, c *client.Client, t client.Target, isAwaited bool) (*v1alpha1.Recording, error) {
	deadline := time.NewTimer(closeTime)
	defer deadline.Stop()
	for wait := isAwaited; wait; {
		var r v1alpha1.Recording
		if err := c.Get(ctx, t, &r); err != nil {
			return nil, err
		}
		if r.Status.Open == 0 {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline.C: // it has left something running
			wait = false
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var r v1alpha1.Recording
	err := c.Patch(ctx, t, map[string]any{"spec": map[string]any{"stopped": true}}, &r)
	if err != nil {
		return nil, err
	}
	return &r, c.Get(ctx, t, &r)
}

// download writes a format of a recording to a file, which appears when it is complete.
func (o *options) download(ctx context.Context, c *client.Client, t client.Target, format, path string) error {
	_, err := writeWhole(path, func(w io.Writer) (int64, error) { return c.DownloadAs(ctx, t, "log", format, w) })
	return err
}

// writeWhole writes a file that appears when it is complete, and returns its size.
func writeWhole(path string, write func(io.Writer) (int64, error)) (int64, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) // fails if it was renamed
	n, err := write(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("the server sent nothing for %s", path)
	}
	return n, os.Rename(file.Name(), path)
}
