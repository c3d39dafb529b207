package apf

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// maxHand is the most queues that a flow may be spread over: the hash has bits
// for no more than one hand of 15 out of a deck of 16.
const maxHand = 15

// dealer deals each flow a hand of queues: shuffle sharding. Flows that are
// noisy fill their own queues, and another flow suffers only if all of its own
// are among them.
type dealer struct{ deck, hand int }

// newDealer makes a dealer of hands out of so many queues. It must be possible
// to tell any hand by 60 bits, so that a 64-bit hash deals them evenly.
func newDealer(deck, hand int) (dealer, error) {
	switch {
	case hand <= 0 || deck <= 0:
		return dealer{}, fmt.Errorf("a hand of %d out of %d queues: both must be positive", hand, deck)
	case hand > deck:
		return dealer{}, fmt.Errorf("a hand of %d is larger than the %d queues", hand, deck)
	case hand > maxHand || math.Log2(float64(deck))*float64(hand) > 60:
		return dealer{}, fmt.Errorf("a hand of %d out of %d queues takes more than 60 bits of hash", hand, deck)
	}
	return dealer{deck, hand}, nil
}

// deal appends to hand the queues that a hash stands for, all different.
//
// The hash is read as a number with mixed radix: its first digit, out of deck,
// is a card; the second, out of deck-1, a card among those that are left; and so
// on. The n-th of the cards that are left is found by stepping over those that
// are taken, from the lowest on.
func (d dealer) deal(hash uint64, hand []int) []int {
	var taken [maxHand]int // in ascending order
	for i := range d.hand {
		left := uint64(d.deck - i)
		card := int(hash % left)
		hash /= left
		at := 0
		for at < i && taken[at] <= card {
			card++
			at++
		}
		copy(taken[at+1:i+1], taken[at:i])
		taken[at] = card
		hand = append(hand, card)
	}
	return hand
}

// hashFlow is the hash of a flow: of the schema that the request matched and
// what tells its flows apart.
func hashFlow(schema, distinguisher string) uint64 {
	var room [128]byte
	b := append(room[:0], schema...)
	b = append(b, 0)
	b = append(b, distinguisher...)
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:8])
}
