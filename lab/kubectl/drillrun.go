package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// errInterrupted is the end of a drill by Ctrl-C.
var errInterrupted = errors.New("interrupted")

// keepState makes the checkpoint in which each run begins. If the user may not go back, and has not asked for it, nothing goes back.
func (d *drill) keepState(ctx context.Context, required bool) error {
	made, err := createCheckpoint(ctx, d.client, "")
	if err == nil {
		d.checkpoint = made.Name
		if _, err = d.rewindState(ctx, true); err == nil {
			return nil
		}
		err = errors.Join(err, d.deleteState(ctx))
	}
	if required || ctx.Err() != nil {
		return fmt.Errorf("--rewind: %w", err)
	}
	d.checkpoint = ""
	d.note("each run begins with what the one before left: %v", err)
	return nil
}

// goBack goes back to the state in which each run begins. If that changed something, it gives the client time to come to rest, so
// that its reaction is not part of the next run.
func (d *drill) goBack(ctx context.Context) error {
	if d.checkpoint == "" {
		return nil
	}
	changed, err := d.rewindState(ctx, false)
	if err != nil || changed == 0 {
		return err
	}
	timer := time.NewTimer(d.settle)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errInterrupted
	}
}

// rewindState goes back, and returns the number of objects that this changes.
func (d *drill) rewindState(ctx context.Context, dryRun bool) (int64, error) {
	t := checkpointsTarget
	t.Resource = "rewinds"
	r := &v1alpha1.Rewind{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rewind"},
		Spec: v1alpha1.RewindSpec{Checkpoint: d.checkpoint, DryRun: dryRun}}
	err := d.client.Create(ctx, t, r)
	return r.Status.Restored + r.Status.Changed + r.Status.Removed, err
}

func (d *drill) deleteState(ctx context.Context) error {
	t := checkpointsTarget
	t.Name = d.checkpoint
	return d.client.Delete(ctx, t)
}

// leaveState goes back to the state at the start and removes the checkpoint, even if ctx has ended.
func (d *drill) leaveState(ctx context.Context) error {
	if d.checkpoint == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_, err := d.rewindState(ctx, false)
	return errors.Join(err, d.deleteState(ctx))
}

// runCommandOnce runs the command. Its failure is part of the run; an error is one of this program.
func (d *drill) runCommandOnce(parent context.Context) (*drillRun, error) {
	ctx, cancel := context.WithTimeout(parent, d.timeout)
	defer cancel()
	run := &drillRun{Result: resultPassed}
	c := d.userCommand(ctx, d.command, d.kubeconfig)
	c.Stdout = io.Writer(&run.output)
	if d.verbose {
		c.Stdout = io.MultiWriter(&run.output, d.stderr)
	}
	c.Stderr = c.Stdout
	// The command has a process group, so that nothing of it is left after its time.
	c.SysProcAttr = ownGroup()
	c.Cancel = func() error { return interruptGroup(c.Process.Pid) }
	began := d.now()
	err := c.Run()
	run.Seconds = d.now().Sub(began).Seconds()
	if ctx.Err() != nil && c.Process != nil {
		_ = killGroup(c.Process.Pid) // what is left of it, if anything
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it succeeded, and a process that it left has its output
	}
	err = commandError(ctx, d.command[0], err)
	status := (*exitStatus)(nil)
	switch {
	case parent.Err() != nil:
		return nil, errInterrupted
	case err == nil:
	case ctx.Err() != nil:
		run.Result, run.Why = resultTimedOut, fmt.Sprintf("did not end in %s", d.timeout)
	case errors.As(err, &status):
		run.Result, run.Why = resultFailed, status.Error()
	default:
		return nil, err
	}
	return run, nil
}
