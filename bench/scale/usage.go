package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// usage is what the processes have used.
type usage struct {
	at             time.Time
	cpu, driver    time.Duration
	members        time.Duration // the part of cpu that members of etcds used
	rss, driverRSS int64
	parts          []partUsage
}

// partUsage is what a process of the server has used.
type partUsage struct {
	cpu                time.Duration
	rss, read, written int64
	revision           int64 // of a member of an etcd: each write makes one
}

func (r *run) usage() (usage, error) {
	u := usage{at: time.Now(), parts: make([]partUsage, len(r.parts))}
	var errs [5]error
	for i, p := range r.parts {
		of := &u.parts[i]
		of.cpu, errs[0] = p.CPU()
		of.rss, errs[1] = p.RSS()
		of.read, of.written, errs[2] = p.Transferred()
		if err := errors.Join(errs[:]...); err != nil {
			return u, err
		}
		if of.rss == 0 { // a process that has ended, and that nobody has waited for
			return u, fmt.Errorf("%s has ended", p.name)
		}
		u.cpu += of.cpu
		if p.metrics != "" {
			u.members += of.cpu
		}
		u.rss += of.rss
	}
	u.driver, errs[3] = r.self.CPU()
	u.driverRSS, errs[4] = r.self.RSS()
	return u, errors.Join(errs[:]...)
}

// usageAndRevisions returns the usage with the revisions of the etcds, which costs these some CPU time.
func (r *run) usageAndRevisions(ctx context.Context) (usage, error) {
	u, err := r.usage()
	if err != nil {
		return u, err
	}
	for i, p := range r.parts {
		if p.metrics == "" {
			continue
		}
		if u.parts[i].revision, err = readRevision(ctx, p.metrics); err != nil {
			return u, err
		}
	}
	return u, nil
}

// readRevision returns the revision in the metrics of an etcd.
func readRevision(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "etcd_debugging_mvcc_current_revision "); ok {
			n, err := strconv.ParseFloat(value, 64) // from a million on, it has an exponent
			return int64(n), err
		}
	}
	return 0, errors.Join(fmt.Errorf("%s has no revision", url), lines.Err())
}

// cores returns the cores that the server and this program used since an earlier usage.
func (u usage) cores(since usage) (server, driver float64) {
	took := max(u.at.Sub(since.at).Seconds(), 1e-9)
	return (u.cpu - since.cpu).Seconds() / took, (u.driver - since.driver).Seconds() / took
}

// printParts prints what each process of the server used between two usages, if there are several.
func (r *run) printParts(since, now usage) {
	if len(r.parts) < 2 {
		return
	}
	took := max(now.at.Sub(since.at).Seconds(), 1e-9)
	fmt.Fprintf(r.out, "\n%-*s %9s %9s %9s %9s %9s %9s\n", longestName, "", "CPU s", "cores", "RSS MB", "in MB/s", "out MB/s",
		"writes")
	for i, p := range r.parts {
		a, b := since.parts[i], now.parts[i]
		fmt.Fprintf(r.out, "%-*s %9.2f %9.3f %9d %9.3f %9.3f", longestName, p.name, (b.cpu - a.cpu).Seconds(),
			(b.cpu-a.cpu).Seconds()/took, b.rss>>20, float64(b.read-a.read)/1e6/took, float64(b.written-a.written)/1e6/took)
		if p.metrics != "" {
			fmt.Fprintf(r.out, " %9d", b.revision-a.revision)
		}
		fmt.Fprintln(r.out)
	}
}
