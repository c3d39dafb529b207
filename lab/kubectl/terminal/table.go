package terminal

import (
	"strings"
	"unicode/utf8"
)

// Cell is a text in a table.
type Cell struct {
	Text  string
	Style Style
}

// Text returns a cell without a style.
func Text(text string) Cell { return Cell{Text: text} }

// gap is the space between two columns, as kubectl has it.
const gap = 3

// Table is a table with a title above each column. Rows that are added before Flush are aligned with each other; those of
// a later Flush keep the widths of the former, which only grow, so that a table can go on for hours.
type Table struct {
	out    *Output
	titles []string
	widths []int
	rows   [][]Cell
	titled bool
}

// NewTable returns a table without rows. A title such as "TOOK:8" gives the column a least width.
func (o *Output) NewTable(titles ...string) *Table {
	t := &Table{out: o}
	for _, title := range titles {
		title, least, _ := strings.Cut(title, ":")
		width := utf8.RuneCountInString(title)
		if n := number(least); n > width {
			width = n
		}
		t.titles, t.widths = append(t.titles, title), append(t.widths, width)
	}
	return t
}

// number returns the number that digits stand for.
func number(digits string) (n int) {
	for _, d := range digits {
		n = 10*n + int(d-'0')
	}
	return n
}

// Add adds a row, which has as many cells as the table has columns.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = Escape(cells[i].Text)
	}
	t.rows = append(t.rows, cells)
}

// Fit widens the columns for a row that will be added after a Flush.
func (t *Table) Fit(cells ...Cell) {
	for i, cell := range cells[:len(cells)-1] {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(Escape(cell.Text)))
	}
}

// Empty reports whether there are no rows to write.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Flush writes the rows that were added since the last call, after the titles if it is the first.
func (t *Table) Flush() error {
	rows := t.rows
	if !t.titled {
		titles := make([]Cell, len(t.titles))
		for i, title := range t.titles {
			titles[i] = Cell{title, Bold}
		}
		rows, t.titled = append([][]Cell{titles}, rows...), true
	}
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		t.write(&b, row)
	}
	t.rows = nil
	_, err := t.out.Write([]byte(b.String()))
	return err
}

// write writes a row. The last cell is cut at the width of the window.
func (t *Table) write(b *strings.Builder, row []Cell) {
	column, pending := 0, 0
	for i, cell := range row {
		text := cell.Text
		if last := i == len(row)-1; last && t.out.Width > 0 {
			text = Cut(text, max(t.out.Width-column, 8))
		}
		if text != "" { // so that no line ends with spaces
			b.WriteString(strings.Repeat(" ", pending))
			b.WriteString(t.out.Paint(cell.Style, text))
			pending = 0
		}
		if i < len(row)-1 {
			pending += t.widths[i] - utf8.RuneCountInString(text) + gap
			column += t.widths[i] + gap
		}
	}
	b.WriteByte('\n')
}
