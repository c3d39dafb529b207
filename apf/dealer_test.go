package apf

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDeal checks that a hand has distinct queues and that every hand occurs.
func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deck := rapid.IntRange(1, 512).Draw(t, "deck")
		d, err := newDealer(deck, rapid.IntRange(1, min(deck, maxHand)).Draw(t, "hand"))
		if err != nil {
			return // needs too many bits
		}
		hand := d.deal(rapid.Uint64().Draw(t, "hash"), nil)
		if len(hand) != d.hand {
			t.Fatalf("%d queues in a hand of %d", len(hand), d.hand)
		}
		slices.Sort(hand)
		if hand[0] < 0 || hand[len(hand)-1] >= deck || len(slices.Compact(hand)) != d.hand {
			t.Fatalf("got %v", hand)
		}
	})
	// Each of the 5*4*3 hashes yields a different ordered hand of 3 out of 5.
	d, _ := newDealer(5, 3)
	seen := map[string]bool{}
	for hash := range uint64(60) {
		seen[fmt.Sprint(d.deal(hash, nil))] = true
	}
	if len(seen) != 60 {
		t.Errorf("%d hands out of 60", len(seen))
	}
}

func TestDealersThatCannotBe(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {5, 0}, {5, 6}, {16, 16}, {10_000_000, 10}, {-1, -1}} {
		if _, err := newDealer(c[0], c[1]); err == nil {
			t.Errorf("%d queues, hands of %d", c[0], c[1])
		}
	}
}

// shardings is the table of the Kubernetes documentation: the probability that all queues of
// a mouse are among those of the given number of elephants.
var shardings = []struct {
	hand, deck         int
	one, four, sixteen float64
}{
	{12, 32, 4.428838398950118e-09, 0.11431348830099144, 0.9935089607656024},
	{10, 32, 1.550093439632541e-08, 0.0626479840223545, 0.9753101519027554},
	{10, 64, 6.601827268370426e-12, 0.00045571320990370776, 0.49999929150089345},
	{9, 64, 3.6310049976037345e-11, 0.00045501212304112273, 0.4282314876454858},
	{8, 64, 2.25929199850899e-10, 0.0004886697053040446, 0.35935114681123076},
	{8, 128, 6.994461389026097e-13, 3.4055790161620863e-06, 0.02746173137155063},
	{7, 128, 1.0579122850901972e-11, 6.960839379258192e-06, 0.02406157386340147},
	{7, 256, 7.597695465552631e-14, 6.728547142019406e-08, 0.0006709661542533682},
	{6, 256, 2.7134626662687968e-12, 2.9516464018476436e-07, 0.0008895654642000348},
	{6, 512, 4.116062922897309e-14, 4.982983350480894e-09, 2.26025764343413e-05},
	{6, 1024, 6.337324016514285e-16, 8.09060164312957e-11, 4.517408062903668e-07},
}

// TestShardingTable checks that hands collide with the probabilities of the table: exactly
// for ideal hands, and within statistical error for hashed flows.
func TestShardingTable(t *testing.T) {
	for _, c := range shardings {
		t.Run(fmt.Sprintf("%d of %d", c.hand, c.deck), func(t *testing.T) {
			d, err := newDealer(c.deck, c.hand)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range []struct {
				elephants int
				want      float64
			}{{1, c.one}, {4, c.four}, {16, c.sixteen}} {
				if p := squishProbability(d, e.elephants); math.Abs(p/e.want-1) > 1e-6 {
					t.Errorf("%d elephants: %g, the table has %g", e.elephants, p, e.want)
				}
				checkDealtHands(t, d, e.elephants, e.want)
			}
		})
	}
}

// squishProbability returns the probability that the hand of a mouse is covered by those of the
// elephants, if all hands are equally probable.
func squishProbability(d dealer, elephants int) float64 {
	choose := func(n, k int) float64 {
		if k < 0 || k > n {
			return 0
		}
		p := 1.0
		for i := range k {
			p *= float64(n-i) / float64(i+1)
		}
		return p
	}
	// covered[n] is the probability that the elephants have n queues together.
	covered := make([]float64, d.deck+1)
	covered[0] = 1
	for range elephants {
		next := make([]float64, d.deck+1)
		for n, p := range covered {
			for more := 0; p > 0 && more <= d.hand && n+more <= d.deck; more++ {
				next[n+more] += p * choose(d.deck-n, more) * choose(n, d.hand-more) / choose(d.deck, d.hand)
			}
		}
		covered = next
	}
	var p float64
	for n, c := range covered {
		p += c * choose(n, d.hand) / choose(d.deck, d.hand)
	}
	return p
}

// checkDealtHands deals many samples and checks that the frequency of a squished mouse is
// within five standard deviations of want.
func checkDealtHands(t *testing.T, d dealer, elephants int, want float64) {
	t.Helper()
	const herds = 4000
	squished := 0
	for herd := range herds {
		taken := make([]bool, d.deck)
		for e := range elephants {
			for _, q := range d.deal(hashFlow("schema", fmt.Sprintf("elephant-%d-%d", herd, e)), nil) {
				taken[q] = true
			}
		}
		mouse := d.deal(hashFlow("schema", fmt.Sprintf("mouse-%d", herd)), nil)
		if !slices.ContainsFunc(mouse, func(q int) bool { return !taken[q] }) {
			squished++
		}
	}
	deviation := math.Sqrt(herds * want * (1 - want))
	if off := math.Abs(float64(squished) - herds*want); off > 5*deviation+1 {
		t.Errorf("%d elephants: squished %d times of %d, where %.2f were probable", elephants, squished, herds, herds*want)
	}
}

// TestEven checks that all queues are equally frequent in hands.
func TestEven(t *testing.T) {
	d, _ := newDealer(128, 6)
	const flows = 20000
	count := make([]float64, 128)
	for i := range flows {
		for _, q := range d.deal(hashFlow("s", fmt.Sprint(i)), nil) {
			count[q]++
		}
	}
	want := float64(flows) * 6 / 128
	var chi float64
	for _, n := range count {
		chi += (n - want) * (n - want) / want
	}
	if chi > 127+6*math.Sqrt(2*127) {
		t.Errorf("chi-square of %.1f with 127 degrees of freedom", chi)
	}
}
