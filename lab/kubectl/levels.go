package kubectl

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/kubectl/terminal"
)

// minInterval is the shortest time between two pictures.
const minInterval = 100 * time.Millisecond

func (o *options) levels() *cobra.Command {
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use: "levels [flags]", Short: "Show flow control: who executes, waits and is rejected", Args: cobra.NoArgs,
		Long: `levels shows the priority levels of flow control: requests that execute and wait, the
seats that they have, queues in which requests wait, and how many were dispatched,
rejected, timed out and cancelled since the server started. With -w it does so again and
again, with the number of dispatched requests per second.`,
		Example: `  kubectl lab levels
  kubectl lab levels -w --interval 500ms`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			before, read := []level(nil), o.now()
			return o.repeat(cmd.Context(), watch, interval, func() error {
				levels, err := readLevels(cmd.Context(), c)
				if err != nil {
					return err
				}
				now := o.now()
				setRates(levels, before, now.Sub(read))
				before, read = levels, now
				return o.writeLevels(levels, watch)
			})
		},
	}
	addRepetition(cmd, &watch, &interval)
	o.addOutput(cmd)
	return cmd
}

// addRepetition adds the flags of commands that show the present again and again.
func addRepetition(cmd *cobra.Command, watch *bool, interval *time.Duration) {
	cmd.Flags().BoolVarP(watch, "watch", "w", false, "Show it again and again, until Ctrl-C.")
	cmd.Flags().DurationVar(interval, "interval", time.Second, "With -w: time between two pictures.")
}

// repeat shows a picture, once or again and again.
func (o *options) repeat(ctx context.Context, watch bool, interval time.Duration, show func() error) error {
	if interval < minInterval {
		return fmt.Errorf("--interval: %v is less than %v", interval, minInterval)
	}
	if err := show(); err != nil || !watch {
		return err
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := show(); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
	}
}

// level is a priority level in the dumps of flow control.
type level struct {
	Name       string `json:"name"`
	Executing  int    `json:"executing"`
	Waiting    int    `json:"waiting"`
	Seats      int    `json:"seatsInUse"`
	Queues     int    `json:"queuesInUse"`
	Dispatched int    `json:"dispatched"`
	Rejected   int    `json:"rejected"`
	TimedOut   int    `json:"timedOut"`
	Cancelled  int    `json:"cancelled"`
	// Longest is the number of requests that wait in the longest queue.
	Longest int `json:"longestQueue"`
	// Rate is the number of requests dispatched per second since the picture before; nil for the first one.
	Rate *float64 `json:"dispatchedPerSecond,omitempty"`
}

// readLevels reads the dumps of flow control.
func readLevels(ctx context.Context, c *client.Client) ([]level, error) {
	const path = "/debug/api_priority_and_fairness/"
	dump, err := c.Raw(ctx, path+"dump_priority_levels", "")
	if err != nil {
		return nil, err
	}
	rows, err := dumpRows(string(dump))
	if err != nil {
		return nil, fmt.Errorf("the dump of priority levels: %w", err)
	}
	var levels []level
	index := map[string]int{}
	for _, row := range rows {
		index[row["PriorityLevelName"]] = len(levels)
		levels = append(levels, level{Name: row["PriorityLevelName"],
			Executing: row.number("ExecutingRequests"), Waiting: row.number("WaitingRequests"),
			Dispatched: row.number("DispatchedRequests"), Rejected: row.number("RejectedRequests"),
			TimedOut: row.number("TimedoutRequests"), Cancelled: row.number("CancelledRequests")})
	}
	if dump, err = c.Raw(ctx, path+"dump_queues", ""); err != nil {
		return nil, err
	}
	if rows, err = dumpRows(string(dump)); err != nil {
		return nil, fmt.Errorf("the dump of queues: %w", err)
	}
	for _, row := range rows {
		i, known := index[row["PriorityLevelName"]]
		if !known {
			continue // a level that came between the two dumps
		}
		l := &levels[i]
		l.Seats += row.number("SeatsInUse")
		if pending := row.number("PendingRequests"); pending > 0 {
			l.Queues, l.Longest = l.Queues+1, max(l.Longest, pending)
		}
	}
	return levels, nil
}

// dumpRow is a row of a dump, by the titles of its columns.
type dumpRow map[string]string

// number returns the number in a column; 0 if the dump has none, as that of an exempt level.
func (r dumpRow) number(column string) int {
	n, err := strconv.Atoi(r[column])
	if err != nil {
		return 0
	}
	return n
}

// dumpRows returns the rows of a dump: a line with titles, then lines with cells, all with commas between.
func dumpRows(text string) ([]dumpRow, error) {
	var titles []string
	var rows []dumpRow
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case titles == nil:
			titles = cells
			continue
		case len(cells) == 1 && cells[0] == "":
			continue
		case len(cells) < len(titles):
			return nil, fmt.Errorf("the line %q has %d columns, the titles have %d", strings.TrimSpace(line), len(cells), len(titles))
		}
		row := make(dumpRow, len(titles))
		for i, title := range titles {
			row[title] = cells[i]
		}
		rows = append(rows, row)
	}
	if len(titles) == 0 || titles[0] != "PriorityLevelName" {
		return nil, fmt.Errorf("the server sent no table of priority levels; is flow control off?")
	}
	return rows, nil
}

// setRates notes how many requests each level dispatched per second since the picture before.
func setRates(levels, before []level, elapsed time.Duration) {
	former := map[string]int{}
	for _, l := range before {
		former[l.Name] = l.Dispatched
	}
	for i := range levels {
		if n, found := former[levels[i].Name]; found && elapsed > 0 {
			rate := float64(levels[i].Dispatched-n) / elapsed.Seconds()
			levels[i].Rate = &rate
		}
	}
}

func (o *options) writeLevels(levels []level, watch bool) error {
	if o.output != "" {
		return o.print(levels)
	}
	if watch {
		o.out.Clear()
	}
	table := o.out.NewTable("LEVEL", "EXECUTING", "SEATS", "WAITING", "QUEUES", "LONGEST", "PER-SECOND", "DISPATCHED", "REJECTED",
		"TIMED-OUT", "CANCELLED")
	alarm := func(n int) terminal.Cell {
		if n > 0 {
			return terminal.Cell{Text: strconv.Itoa(n), Style: terminal.Red}
		}
		return terminal.Text("0")
	}
	for _, l := range levels {
		rate := "-"
		if l.Rate != nil {
			rate = fmt.Sprintf("%.1f", *l.Rate)
		}
		table.Add(terminal.Cell{Text: l.Name, Style: terminal.Cyan}, terminal.Text(strconv.Itoa(l.Executing)),
			terminal.Text(strconv.Itoa(l.Seats)), waiting(l.Waiting), terminal.Text(strconv.Itoa(l.Queues)),
			terminal.Text(strconv.Itoa(l.Longest)), terminal.Text(rate),
			terminal.Text(strconv.Itoa(l.Dispatched)), alarm(l.Rejected), alarm(l.TimedOut), terminal.Text(strconv.Itoa(l.Cancelled)))
	}
	return table.Flush()
}

func waiting(n int) terminal.Cell {
	if n > 0 {
		return terminal.Cell{Text: strconv.Itoa(n), Style: terminal.Yellow}
	}
	return terminal.Text("0")
}
