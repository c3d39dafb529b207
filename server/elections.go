package server

import (
	"cmp"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapiserver/miniapiserver/controllers/elections"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// The defaults of the periods of coordinated leader elections.
const (
	electionLeaseDuration = 15 * time.Second
	electionRenewDeadline = 10 * time.Second
	electionRetryPeriod   = 2 * time.Second
)

// checkElectionPeriods requires that a server stops to run elections before another one begins.
func (o *Options) checkElectionPeriods() error {
	switch {
	case o.Elections.LeaseDuration <= o.Elections.RenewDeadline:
		return errors.New("must be greater than --coordinated-leadership-renew-deadline")
	case o.Elections.RenewDeadline <= o.Elections.RetryPeriod:
		return errors.New("--coordinated-leadership-renew-deadline must be greater than --coordinated-leadership-retry-period")
	}
	return nil
}

// holdElections starts the coordinated leader elections if their gate is enabled.
func (p *builder) holdElections() {
	if !p.gates.Enabled(features.CoordinatedLeaderElection) {
		return
	}
	p.runLoop("coordinated leader elections", func() {
		elections.Run(p.lifetime, elections.Config{
			BaseConfig:    p.controllerConfig.BaseConfig,
			ServerID:      p.serverID + "_" + string(uuid.NewUUID()), // servers of one host have the same identity
			LeaseDuration: cmp.Or(p.o.Elections.LeaseDuration, electionLeaseDuration),
			RenewDeadline: cmp.Or(p.o.Elections.RenewDeadline, electionRenewDeadline),
			RetryPeriod:   cmp.Or(p.o.Elections.RetryPeriod, electionRetryPeriod),
		})
	})
	p.steps.finish(stepElections)
}
