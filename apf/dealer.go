package apf

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// maxHand is the maximum number of queues of a flow: 60 bits of hash are enough for a hand
// of 15 from a deck of 16.
const maxHand = 15

// dealer deals each flow a hand of queues: shuffle sharding. Noisy flows fill only their own
// queues, and another flow is delayed only if all queues of its hand are among them.
type dealer struct{ deck, hand int }

// newDealer returns a dealer of hands from a deck. All possible hands must be
// distinguishable by 60 bits, so that a 64-bit hash deals them evenly.
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

// deal appends the hand of a hash: d.hand distinct queues.
//
// The hash is read as a number with mixed radix. The first digit, modulo deck, is a card;
// the second, modulo deck-1, is the index of a card among the remaining ones; and so on. To
// find the n-th remaining card, deal steps over the taken ones in ascending order.
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

// hashFlow returns the hash of a flow.
func hashFlow(schema, distinguisher string) uint64 {
	var room [128]byte
	b := append(room[:0], schema...)
	b = append(b, 0)
	b = append(b, distinguisher...)
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:8])
}
