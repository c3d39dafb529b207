package batch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scheduleField is one of the five fields of a schedule: its bounds, and the names of
// numbers.
type scheduleField struct {
	low, high int
	names     string
}

func scheduleFields() [5]scheduleField {
	return [5]scheduleField{
		{0, 59, ""}, {0, 23, ""}, {1, 31, ""},
		{1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
		{0, 6, "sun mon tue wed thu fri sat"},
	}
}

// parseSchedule validates the schedule of a CronJob, with the error texts of the parser that
// kube-apiserver uses.
func parseSchedule(schedule string) error {
	if schedule == "" {
		return errors.New("empty spec string")
	}
	if strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=") {
		zone, rest, ok := strings.Cut(schedule, " ")
		if !ok { // the parser of kube-apiserver panics
			return errors.New("invalid schedule format: runtime error: slice bounds out of range [:-1]")
		}
		_, zone, _ = strings.Cut(zone, "=")
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("provided bad location %s: %w", zone, err)
		}
		schedule = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(schedule, "@") {
		return parseDescriptor(schedule)
	}
	fields, wanted := strings.Fields(schedule), scheduleFields()
	if len(fields) != len(wanted) {
		return fmt.Errorf("expected exactly %d fields, found %d: %v", len(wanted), len(fields), fields)
	}
	for i, f := range wanted {
		for _, part := range strings.FieldsFunc(fields[i], func(r rune) bool { return r == ',' }) {
			if err := f.parse(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseDescriptor(descriptor string) error {
	switch descriptor {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	every, ok := strings.CutPrefix(descriptor, "@every ")
	if !ok {
		return fmt.Errorf("unrecognized descriptor: %s", descriptor)
	}
	if _, err := time.ParseDuration(every); err != nil {
		return fmt.Errorf("failed to parse duration %s: %w", descriptor, err)
	}
	return nil
}

// parse validates *, n or n-m, each with an optional /step.
func (f scheduleField) parse(part string) error {
	steps := strings.Split(part, "/")
	ends := strings.Split(steps[0], "-")
	low, high := f.low, f.high
	if ends[0] != "*" && ends[0] != "?" {
		var err error
		if low, err = f.number(ends[0]); err != nil {
			return err
		}
		switch len(ends) {
		case 1:
			high = low
		case 2:
			if high, err = f.number(ends[1]); err != nil {
				return err
			}
		default:
			return fmt.Errorf("too many hyphens: %s", part)
		}
	}
	step := 1
	switch len(steps) {
	case 1:
	case 2:
		var err error
		if step, err = parseScheduleNumber(steps[1]); err != nil {
			return err
		}
		if len(ends) == 1 {
			high = f.high
		}
	default:
		return fmt.Errorf("too many slashes: %s", part)
	}
	switch {
	case low < f.low:
		return fmt.Errorf("beginning of range (%d) below minimum (%d): %s", low, f.low, part)
	case high > f.high:
		return fmt.Errorf("end of range (%d) above maximum (%d): %s", high, f.high, part)
	case low > high:
		return fmt.Errorf("beginning of range (%d) beyond end of range (%d): %s", low, high, part)
	case step == 0:
		return fmt.Errorf("step of range should be a positive number: %s", part)
	}
	return nil
}

func (f scheduleField) number(s string) (int, error) {
	for i, name := range strings.Fields(f.names) {
		if strings.EqualFold(name, s) {
			return f.low + i, nil
		}
	}
	return parseScheduleNumber(s)
}

func parseScheduleNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("failed to parse int from %s: %w", s, err)
	}
	if n < 0 {
		return 0, fmt.Errorf("negative number (%d) not allowed: %s", n, s)
	}
	return n, nil
}
