// Package apf implements API Priority and Fairness: it decides when a request may execute.
// Under overload it isolates priority levels from each other, so that important requests are
// served, and shares the seats of one level fairly among its flows, so that a noisy client
// delays only itself.
//
// # Terms
//
// A flow schema matches requests and assigns them to a priority level. Within a schema, the
// requests of one user or namespace form a flow. A level has a number of seats. A request
// occupies one or more of them while it executes: its width. A request that finds no free
// seats waits in one of the level's queues, or is rejected. A Limiter makes these decisions
// for a server, a Ticket is the state of one request, and a Controller maintains the
// configuration objects.
//
// # Reading order
//
// limiter.go is the path of a request and config.go the configuration; classify.go finds the
// schema, width.go estimates the width, dealer.go selects candidate queues by shuffle
// sharding. queueset.go is the state machine of a level and dispatch.go selects the next
// request. borrowing.go moves seats between levels by the demand that stats.go measures.
// defaults.go, maintain.go, status.go and controller.go maintain the objects; metrics.go and
// dump.go report the state.
//
// # Virtual time
//
// Fair queuing (Demers, Keshav, Shenker, 1989) simulates a router that sends one bit of each
// non-empty queue in turn. Let R(t) be the number of such rounds until t. When N queues are
// non-empty and the line sends μ bits a second,
//
//	dR/dt = μ / N
//
// A packet of P bits that arrives in its queue at time t begins, in rounds, at
//
//	S = max(R(t), F of the previous packet in the queue)    and ends at    F = S + P
//
// Sending whole packets in the order of F keeps each queue within one packet of what sending
// bits in turn would have given it.
//
// A server differs from a line in three ways. First, its capacity is a number of seats, which
// work in parallel; a request of width w that takes time d is work of w·d seat-seconds. So R
// is measured in seat-seconds per queue, and grows with
//
//	dR/dt = seats in use / N
//
// where N counts the queues with waiting or executing requests. The formula has the seats in
// use and not all seats, because a seat may be free while a request waits for two. If R
// counted free seats, it would run ahead of what any queue was given, and a flow that arrives
// last would be treated as one that was given more. Second, requests execute in parallel, so
// a queue may have several executing. Third, d is unknown in advance. So each queue stores
// one number, the S of its next request:
//
//   - when a request arrives at an idle queue, S becomes R(now);
//   - when a request is dispatched, S grows by its estimated work w·G, with an estimate G
//     of d;
//   - when it finishes after d, S changes by w·(d-G), which corrects the estimate.
//
// Dispatching selects the queue whose next F = S + w·G is smallest. A flow that used more than
// its share has an S ahead of the others and waits until they catch up. A flow that arrives
// late begins at R, and has accumulated no credit.
//
// Seats that a request occupies after its response (for the watchers that a write notifies)
// are known in advance: their work counts at dispatch and needs no correction.
//
// # Locks
//
// A Limiter's configuration is immutable and replaced as a whole; reconfiguration has a lock
// of its own. Each level has one lock, which is held for a few hundred nanoseconds and is the
// innermost lock.
package apf
