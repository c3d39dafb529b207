// Package apf says when a request may execute: API Priority and Fairness. Under
// overload it keeps priority levels apart, so that what matters gets through,
// and flows of one level fair to each other, so that a noisy client is in
// nobody's way but its own.
//
// # Nouns
//
// A flow schema matches requests and sends them to a priority level; within a
// schema, requests of one user or namespace are a flow. A level has a number of
// seats, of which a request takes one or more while it executes: its width. What
// finds no seats waits in one of the level's queues, or is rejected. A Limiter
// decides all this for a server; a Ticket is a request that was let in; a Keeper
// looks after the objects that configure it.
//
// # Reading order
//
// limiter.go is the way of a request and config.go what it goes by; classify.go
// finds the schema, width.go estimates seats, dealer.go deals a flow its queues.
// queueset.go is the state machine of a level and dispatch.go the choice of who
// is next. borrowing.go moves seats between levels by the demand that demand.go
// measures. defaults.go, maintain.go, status.go and keeper.go are about the
// objects; metrics.go and dump.go show what goes on.
//
// # Virtual time
//
// Fair queuing (Demers, Keshav, Shenker, 1989) imitates a router that sends one
// bit of each non-empty queue in turn. Let R(t) be the number of such rounds
// until t. When N queues are non-empty and the line sends μ bits a second,
//
//	dR/dt = μ / N
//
// A packet of P bits that comes to its queue at time t begins, in rounds, at
//
//	S = max(R(t), F of the packet before it in the queue)    and ends at    F = S + P
//
// and to send whole packets in the order of F keeps each queue within one packet
// of what sending bits in turn would have given it.
//
// A server differs from a line in three ways. Its capacity is a number of seats,
// which work at the same time; a request of width w that takes time d is work of
// w·d seat-seconds. So R is measured in seat-seconds per queue, and grows with
//
//	dR/dt = seats in use / N
//
// where N counts queues of which some request waits or executes. It is the seats
// in use and not those that there are, for a seat may be free though somebody
// waits: for two. Were R to count it, it would run ahead of what anybody got, and
// who came last would be taken for one who had got more. Second, requests execute
// side by side: a queue is busy with several. And third, nobody knows d
// beforehand. So each queue keeps one number, the S of its next request:
//
//   - when a request comes to an idle queue, S becomes R(now);
//   - when a request is dispatched, S grows by its estimated work w·G, with a
//     guess G for d;
//   - when it finishes after d, S changes by w·(d-G), which corrects the guess.
//
// Dispatching takes the queue whose next F = S + w·G is least. A flow that used
// more than its share has an S that is ahead, and waits until the others are
// there too; one that came late begins at R, and has saved up nothing.
//
// Seats that a request occupies after its answer (for the watchers that a write
// wakes) are known beforehand: their work counts at dispatch and needs no
// correction.
//
// # Locks
//
// A Limiter's configuration is immutable and replaced as a whole; reconfiguring
// has a lock of its own. Each level has one lock, which is held for a few
// hundred nanoseconds, and under which no other is taken.
package apf
