package storage

import "io"

// progressFunc is the function of Options.Progress.
type progressFunc func(what string, done, total int64)

// tell tells what is done now.
func (o *Options) tell(what string) {
	if o.Progress != nil {
		o.Progress(what, 0, 0)
	}
}

// counting returns a writer that tells how many of the total bytes were written to w.
func (p progressFunc) counting(w io.Writer, what string, total int64) io.Writer {
	if p == nil {
		return w
	}
	return &countingWriter{w: w, tell: func(done int64) { p(what, done, total) }}
}

type countingWriter struct {
	w    io.Writer
	done int64
	tell func(done int64)
}

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.done += int64(n)
	c.tell(c.done)
	return n, err
}
