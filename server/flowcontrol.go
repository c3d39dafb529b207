package server

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// defaultSeats is the number of seats if no option limits requests in flight.
const defaultSeats = 600

// flowControl decides when requests execute.
type flowControl struct {
	limiter    *apf.Limiter // nil without priority and fairness
	controller *apf.Controller
}

// buildFlowControl makes the limiter of requests, and the controller of the objects that
// configure it.
func (p *builder) buildFlowControl() (err error) {
	p.inflight = apf.NewInflight(nil)
	if !p.o.Limits.NoPriorityAndFairness {
		seats := p.o.Limits.MaxRequestsInflight + p.o.Limits.MaxMutatingRequestsInflight
		if seats == 0 {
			seats = defaultSeats
		}
		p.flow.limiter, err = apf.New(apf.Options{
			Seats:     seats,
			WaitLimit: p.o.Limits.RequestTimeout / 4,
			Inflight:  p.inflight,
			Metrics:   p.metrics,
			Logger:    p.logger,
			Objects: func(info *request.Info) (apf.Objects, bool) {
				n, bytes, ok := p.reg.StoredSize(schema.GroupVersion{Group: info.Group, Version: info.Version}, info.Resource)
				return apf.Objects{Count: int64(n), Bytes: bytes}, ok
			},
			CountLists: !p.gates.Enabled(features.SizeBasedListCostEstimate),
			Silent: func(info *request.Info) bool {
				res, _, ok := p.catalogue.Lookup(schema.GroupVersion{Group: info.Group, Version: info.Version}, info.Resource)
				if !ok {
					return false
				}
				action, ok := res.Subresource(info.Subresource).(*api.Action)
				return ok && action.Source != ""
			},
		})
		if err != nil {
			return err
		}
	}
	p.flow.controller, err = apf.NewController(apf.ControllerConfig{
		Registry: p.reg, Catalogue: p.catalogue, Limiter: p.flow.limiter, Logger: p.logger,
	})
	return err
}

// runFlowControl starts the loops that follow the configuration objects and adjust the
// limits of priority levels.
func (s *Server) runFlowControl(f flowControl) {
	s.runLoop("flow control", func() { f.controller.Run(s.lifetime) })
	if f.limiter != nil {
		s.runLoop("flow control", func() { f.limiter.Run(s.lifetime) })
	}
}
