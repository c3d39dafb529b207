package conversation

// bySubject returns the positions of the events of each object.
func bySubject(events []any) map[string][]int {
	out := map[string][]int{}
	for i, e := range events {
		subject := subjectOf(e)
		out[subject] = append(out[subject], i)
	}
	return out
}

// subjectOf names the object of an event, as far as its name is not generated.
func subjectOf(event any) string {
	if rows, ok := lookup(event, "object.rows").([]any); ok && len(rows) > 0 {
		return elementName(rows[0])
	}
	return elementName(lookup(event, "object"))
}

// isBookmark reports whether an event is a bookmark that the server sends now and then, by its own clock.
func isBookmark(event any) bool {
	return lookup(event, "type") == "BOOKMARK" && lookup(event, "object.metadata.annotations.k8s~1io/initial-events-end") == nil
}

// inOrderOf returns events in the order of the recorded ones. That of different objects is the order of writes, which may have been
// concurrent. Bookmarks that are missing or more are no difference.
func inOrderOf(want, got []any) []any {
	of := bySubject(got)
	used := make([]bool, len(got))
	out := make([]any, 0, len(got))
	for _, w := range want {
		subject := subjectOf(w)
		if list := of[subject]; len(list) > 0 {
			out, used[list[0]], of[subject] = append(out, got[list[0]]), true, list[1:]
		} else if isBookmark(w) {
			out = append(out, w)
		}
	}
	for i, e := range got {
		if !used[i] && !isBookmark(e) {
			out = append(out, e)
		}
	}
	return out
}
