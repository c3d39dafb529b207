package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/untyped"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/storage"
)

// clockName is the name of the one Clock.
const clockName = "server"

const (
	// maxLead is the maximum distance of the clock from the real time.
	maxLead = 10 * 365 * 24 * time.Hour
	// recently is the age up to which a time at which the clock is to stand means the present.
	recently = clock.Tolerance - 5*time.Second
)

// newClocks returns the resource of the Clock. An update moves the clock once it is stored.
func (l *Lab) newClocks() *api.Resource {
	res := newKind[v1alpha1.Clock](api.Names{
		Name: resourceClocks, Singular: "clock", Kind: "Clock", Categories: []string{"lab"},
		Verbs: []string{api.VerbGet, api.VerbList, api.VerbPatch, api.VerbUpdate, api.VerbWatch},
	}, nil, clockRow)
	res.Prepare = l.prepareClock
	res.Checks = api.Checks(api.ObjectMeta, l.checkClock)
	res.Detail = l.clockDetail
	res.Written = l.moveClock
	return res
}

// clockRow adds the columns of a Clock.
func clockRow(row *table.Row, obj api.Object) {
	row.DescribedBy(reflect.TypeFor[v1alpha1.Clock]())
	row.Name(obj.GetName())
	spec, _ := clockSpec(obj)
	offset, frozen := "real time", ""
	if spec.Offset != "" {
		offset = spec.Offset
	}
	if spec.FrozenAt != nil {
		frozen = spec.FrozenAt.UTC().Format(time.RFC3339)
	}
	row.Text("Offset", ".spec.offset", offset)
	row.Text("Frozen", ".spec.frozenAt", frozen)
	row.Age(obj)
}

// clockSpec returns the spec of a Clock.
func clockSpec(obj api.Object) (v1alpha1.ClockSpec, error) {
	var c v1alpha1.Clock
	err := recode(obj.(*untyped.Object).Object, &c)
	return c.Spec, err
}

// clockSetting returns the setting of the clock that a spec asks for, and the first error in it.
func clockSetting(spec *v1alpha1.ClockSpec) (s clock.Setting, fault *field.Error) {
	if spec.Offset != "" {
		path := field.NewPath("spec", "offset")
		offset, err := time.ParseDuration(spec.Offset)
		if err != nil {
			return s, field.Invalid(path, cut(spec.Offset, maxName), "must be a duration such as 90m or 24h")
		}
		if offset.Abs() > maxLead {
			return s, field.Invalid(path, spec.Offset, fmt.Sprintf("must be at most ten years (%v)", maxLead))
		}
		s.Offset = offset
	}
	if spec.FrozenAt != nil && !spec.FrozenAt.IsZero() {
		s.FrozenAt = spec.FrozenAt.Time
		if time.Until(s.FrozenAt).Abs() > maxLead {
			return s, field.Invalid(field.NewPath("spec", "frozenAt"), spec.FrozenAt.UTC().Format(time.RFC3339),
				"must be at most ten years from the real time")
		}
	}
	return s, nil
}

// prepareClock makes a time that has just passed the present one, and sets the status: what the clock shows once it has moved.
func (l *Lab) prepareClock(w *api.Write[api.Object]) {
	content := w.Object.(*untyped.Object).Object
	delete(content, "status")
	spec, err := clockSpec(w.Object)
	if err != nil {
		return // the check says why
	}
	s, fault := clockSetting(&spec)
	if fault != nil {
		return
	}
	now, wall := l.config.Clock.Now(), time.Now()
	if back := now.Sub(s.FrozenAt); !s.FrozenAt.IsZero() && back > 0 && back < recently {
		s.FrozenAt = now.Round(0)
		content["spec"].(map[string]any)["frozenAt"] = microTime(now)
	}
	content["status"] = map[string]any{"now": microTime(s.At(wall)), "realTime": microTime(wall)}
}

func microTime(t time.Time) string { return t.UTC().Format(metav1.RFC3339Micro) }

// checkClock refuses a Clock that goes back, but for a reset.
func (l *Lab) checkClock(w *api.Write[api.Object]) {
	spec, err := clockSpec(w.Object)
	if err != nil {
		w.Add(field.Invalid(field.NewPath("spec"), "", err.Error()))
		return
	}
	s, fault := clockSetting(&spec)
	if fault != nil {
		w.Add(fault)
		return
	}
	if s.IsReal() {
		return
	}
	path, value := field.NewPath("spec", "offset"), spec.Offset
	if !s.FrozenAt.IsZero() {
		path, value = field.NewPath("spec", "frozenAt"), spec.FrozenAt.UTC().Format(metav1.RFC3339Micro)
	}
	now, tolerance := l.config.Clock.Now(), time.Duration(0)
	if !s.FrozenAt.IsZero() {
		tolerance = clock.Tolerance - recently // prepareClock has set it
	}
	wall := time.Now()
	if w.Old != nil { // another request may be about to move the clock
		if before, err := clockSpec(w.Old); err == nil {
			if s, fault := clockSetting(&before); fault == nil && s.At(wall).After(now) {
				now = s.At(wall)
			}
		}
	}
	if then := s.At(wall); now.Sub(then) > tolerance {
		w.Add(field.Invalid(path, value, fmt.Sprintf("the clock does not go back: it shows %s, and would show %s; "+
			"only a reset goes back, to the real time: remove offset and frozenAt", microTime(now), microTime(then))))
	}
}

// clockDetail returns a Clock with what it shows now.
func (l *Lab) clockDetail(_ context.Context, obj api.Object) (api.Object, error) {
	out := obj.DeepCopyObject().(*untyped.Object)
	out.Object["status"] = map[string]any{"now": microTime(l.config.Clock.Now()), "realTime": microTime(time.Now())}
	return out, nil
}

// moveClock moves the clock to what the stored Clock says. Of several writes at a time, the last one counts.
func (l *Lab) moveClock(ctx context.Context) {
	l.moving.Lock()
	defer l.moving.Unlock()
	spec, err := l.storedClock(ctx)
	if err != nil {
		l.config.Logger.Error("the clock cannot be read", "error", err)
		return
	}
	s, fault := clockSetting(&spec)
	if fault != nil || s == l.config.Clock.Setting() {
		return
	}
	if err := l.config.Clock.Move(ctx, s); err != nil {
		l.config.Logger.Warn("the clock was not moved", "error", err)
	}
}

func (l *Lab) clockTarget() registry.Target {
	return registry.Target{Resource: l.clocks, Version: &l.clocks.Versions[0], Name: clockName}
}

// storedClock returns the spec of the stored Clock.
func (l *Lab) storedClock(ctx context.Context) (v1alpha1.ClockSpec, error) {
	item, err := l.connections.Registry.Get(context.WithoutCancel(ctx), l.clockTarget(), storage.Read{})
	if err != nil {
		return v1alpha1.ClockSpec{}, err
	}
	obj, err := item.Object()
	if err != nil {
		return v1alpha1.ClockSpec{}, err
	}
	return clockSpec(obj)
}

// createClock stores the Clock.
func (l *Lab) createClock() error {
	s, now := l.config.Clock.Setting(), l.config.Clock.Now()
	c := v1alpha1.Clock{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Clock"},
		ObjectMeta: metav1.ObjectMeta{Name: clockName, UID: types.UID(request.NewUUID()), CreationTimestamp: metav1.NewTime(now), Generation: 1},
		Spec:       specOf(s),
		Status:     v1alpha1.ClockStatus{Now: metav1.NewMicroTime(now), RealTime: metav1.NewMicroTime(time.Now())},
	}
	data, err := json.Marshal(&c)
	if err == nil {
		l.connections.Registry.ApplyLocal(l.clocks, []storage.LocalChange{{Key: clockName, Value: data}})
	}
	return err
}

// specOf returns the spec that asks for a setting.
func specOf(s clock.Setting) (spec v1alpha1.ClockSpec) {
	if s.Offset != 0 {
		spec.Offset = s.Offset.String()
	}
	if !s.FrozenAt.IsZero() {
		at := metav1.NewMicroTime(s.FrozenAt)
		spec.FrozenAt = &at
	}
	return spec
}

// Clock is the clock of a server, for programs in its process. Its methods are those of the object: whoever watches that sees them.
type Clock struct{ lab *Lab }

// Clock returns the clock of the server.
func (l *Lab) Clock() Clock { return Clock{l} }

// Now returns the time of the clock.
func (c Clock) Now() time.Time { return c.lab.config.Clock.Now() }

// Advance moves the clock forward, also one that stands. It returns when what falls due until then has happened, or after a bounded
// time.
func (c Clock) Advance(ctx context.Context, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("advancing the clock by %v: %w", d, clock.ErrBack)
	}
	return c.set(ctx, func(s clock.Setting) clock.Setting {
		s.Offset += d
		if !s.FrozenAt.IsZero() {
			s.FrozenAt = s.FrozenAt.Add(d)
		}
		return s
	})
}

// Freeze stops the clock at its present time.
func (c Clock) Freeze(ctx context.Context) error {
	return c.set(ctx, func(s clock.Setting) clock.Setting {
		if s.FrozenAt.IsZero() {
			s.FrozenAt = c.Now()
		}
		return s
	})
}

// Reset has the clock show the real time.
func (c Clock) Reset(ctx context.Context) error {
	return c.set(ctx, func(clock.Setting) clock.Setting { return clock.Setting{} })
}

// errNoClock is the error of a lab without a clock.
var errNoClock = errors.New("the lab has no clock")

// set changes the Clock.
func (c Clock) set(ctx context.Context, change func(clock.Setting) clock.Setting) error {
	if c.lab.config.Clock == nil {
		return errNoClock
	}
	reg := c.lab.connections.Registry
	_, err := reg.Update(request.AsServer(ctx), c.lab.clockTarget(), func(_ context.Context, old api.Object) (api.Object, error) {
		spec, err := clockSpec(old)
		if err != nil {
			return nil, err
		}
		s, fault := clockSetting(&spec)
		if fault != nil {
			return nil, fault
		}
		wanted, err := encode(&v1alpha1.Clock{Spec: specOf(change(s))})
		if err != nil {
			return nil, err
		}
		old.(*untyped.Object).Object["spec"] = wanted.Object["spec"]
		return old, nil
	}, registry.UpdateOptions{WriteOptions: registry.WriteOptions{Manager: "lab"}})
	if err != nil {
		return fmt.Errorf("setting the clock: %w", err)
	}
	return nil
}
