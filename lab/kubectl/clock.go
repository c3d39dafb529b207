package kubectl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// clockTarget is the clock of the server.
var clockTarget = client.Target{
	Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "clocks", Name: "server",
}

func (o *options) clockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "clock [+DURATION|freeze|reset]", Short: "Show or move the clock of the server", Args: cobra.MaximumNArgs(1),
		Long: `clock shows the time of the server. +24h moves it forward: what falls due happens at once, such
as the end of Events, tokens and certificates. freeze stops it, and reset makes it the
time of the machine again. Durations, such as timeouts of requests, are not moved.
Programs besides the server decide by their own clock.`,
		Example: `  kubectl lab clock
  kubectl lab clock +24h
  kubectl lab clock freeze
  kubectl lab clock reset`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			var clock v1alpha1.Clock
			if err := c.Get(cmd.Context(), clockTarget, &clock); err != nil {
				return o.withoutClock(cmd.Context(), c, err)
			}
			if len(args) > 0 {
				patch, err := clockPatch(&clock, args[0])
				if err != nil {
					return err
				}
				clock = v1alpha1.Clock{}
				if err := c.Patch(cmd.Context(), clockTarget, map[string]any{"spec": patch}, &clock); err != nil {
					return err
				}
			}
			if o.output != "" {
				return o.print(&clock)
			}
			return o.writeClock(&clock)
		},
	}
	o.addOutput(cmd)
	cmd.ValidArgs = []string{"+1h", "+24h", "freeze", "reset"}
	return cmd
}

// withoutClock returns why the clock cannot be read.
func (o *options) withoutClock(ctx context.Context, c *client.Client, err error) error {
	if !apierrors.IsNotFound(err) || isObjectMissing(err) {
		return err
	}
	if _, other := checkpoints(ctx, c); other != nil {
		return other
	}
	return errors.New("the lab of this server has no clock; a newer release has one")
}

// clockPatch returns the spec of a clock after a command.
func clockPatch(clock *v1alpha1.Clock, word string) (map[string]any, error) {
	switch word {
	case "freeze":
		if clock.Spec.FrozenAt != nil {
			return map[string]any{}, nil
		}
		return map[string]any{"frozenAt": clock.Status.Now.UTC().Format(metav1.RFC3339Micro)}, nil
	case "reset":
		return map[string]any{"frozenAt": nil, "offset": nil}, nil
	}
	text, isForward := strings.CutPrefix(word, "+")
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is none of +DURATION (such as +24h), freeze and reset", word)
	case !isForward || d < 0:
		return nil, fmt.Errorf("the clock only goes forward, by +%s; reset makes it the time of the machine again", strings.TrimLeft(text, "-"))
	case clock.Spec.FrozenAt != nil:
		return map[string]any{"frozenAt": clock.Spec.FrozenAt.Add(d).UTC().Format(metav1.RFC3339Micro)}, nil
	}
	offset := time.Duration(0)
	if clock.Spec.Offset != "" {
		if offset, err = time.ParseDuration(clock.Spec.Offset); err != nil {
			return nil, fmt.Errorf("the offset of the clock: %w", err)
		}
	}
	return map[string]any{"offset": (offset + d).String()}, nil
}

// writeClock writes the time of the server and how it differs from that of the machine.
func (o *options) writeClock(clock *v1alpha1.Clock) error {
	text := clock.Status.Now.In(o.location).Format("2006-01-02 15:04:05 MST")
	switch {
	case clock.Spec.FrozenAt != nil:
		text += ", frozen"
	case clock.Spec.Offset != "" && clock.Spec.Offset != "0s":
		text += ", " + clock.Spec.Offset + " ahead"
	}
	o.out.Printf("%s\n", text)
	return nil
}
