// Package monotonic measures time for deadlines and intervals that are kept as numbers, for
// example because they are atomic. Unlike time.Time.UnixNano, which is a reading of the wall clock,
// its readings are not affected when that clock is set. A test of package layering finds uses of
// the wall clock.
package monotonic

import "time"

// start is the origin of the readings; it is immutable.
var start = time.Now()

// Now returns the nanoseconds since the start of the process, plus one: it is never 0.
func Now() int64 { return int64(time.Since(start)) + 1 }
