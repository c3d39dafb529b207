package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/miniapiserver/miniapiserver/apf"
	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaultSeats is how many requests execute at a time where no option says.
const defaultSeats = 600

// flowControl is what decides when requests execute; without a limiter, it only
// looks after the objects.
type flowControl struct {
	limiter *apf.Limiter
	keeper  *apf.Keeper
}

func (s *Server) newFlowControl(reg *registry.Registry, catalogue *api.Catalogue, metrics *prometheus.Registry, inflight *apf.Inflight) (f flowControl, err error) {
	if !s.o.NoPriorityAndFairness {
		seats := s.o.MaxRequestsInflight + s.o.MaxMutatingRequestsInflight
		if seats == 0 {
			seats = defaultSeats
		}
		f.limiter, err = apf.New(apf.Options{
			Seats:     seats,
			WaitLimit: s.o.RequestTimeout / 4,
			Inflight:  inflight,
			Metrics:   metrics,
			Logger:    s.logger,
			Objects: func(info *request.Info) (apf.Objects, bool) {
				n, bytes, ok := reg.Size(schema.GroupVersion{Group: info.Group, Version: info.Version}, info.Resource)
				return apf.Objects{Count: int64(n), Bytes: bytes}, ok
			},
		})
		if err != nil {
			return f, err
		}
	}
	f.keeper, err = apf.NewKeeper(apf.KeeperConfig{Registry: reg, Catalogue: catalogue, Limiter: f.limiter, Logger: s.logger})
	return f, err
}

// runFlowControl follows the objects, and the demand, for the server's lifetime.
func (s *Server) runFlowControl(f flowControl) {
	s.keep("flow control", func() { f.keeper.Run(s.lifetime) })
	if f.limiter != nil {
		s.keep("flow control", func() { f.limiter.Run(s.lifetime) })
	}
}
