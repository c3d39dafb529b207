package controllers

import "time"

// mending lets what was changed be mended at once, but ever less often what is
// changed again and again: by another server on the same data, most likely, that
// sees it the other way round. It is used by one goroutine.
type mending map[string]mended

// mended is until when something is left as it is, and for how long it was.
type mended struct {
	until time.Time
	pause time.Duration
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Minute
)

// left is how long to wait before key is mended; 0 means now, which is noted.
func (m mending) left(key string, now time.Time) verdict {
	was := m[key]
	if left := was.until.Sub(now); left > 0 {
		return verdict(left)
	}
	pause := min(max(2*was.pause, firstPause), lastPause)
	if now.Sub(was.until) > lastPause {
		pause = firstPause
	}
	m[key] = mended{now.Add(pause), pause}
	return done
}
