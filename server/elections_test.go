package server

import (
	"testing"
	"time"
)

// TestElectionPeriods checks that a server stops to run elections before another one begins.
func TestElectionPeriods(t *testing.T) {
	for _, c := range []struct {
		lease, deadline, retry time.Duration
		valid                  bool
	}{
		{electionLeaseDuration, electionRenewDeadline, electionRetryPeriod, true},
		{electionRenewDeadline, electionRenewDeadline, electionRetryPeriod, false},
		{electionLeaseDuration, electionRenewDeadline, electionRenewDeadline, false},
	} {
		o := Options{Elections: Elections{LeaseDuration: c.lease, RenewDeadline: c.deadline, RetryPeriod: c.retry}}
		if err := o.checkElectionPeriods(); (err == nil) != c.valid {
			t.Errorf("%v, %v, %v: got %v", c.lease, c.deadline, c.retry, err)
		}
	}
}
