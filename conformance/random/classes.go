package random

// class is a kind of story.
type class struct {
	name string
	// weight is its share of a run over all classes.
	weight int
	// tell adds steps to a story until it is long enough.
	tell func(*story)
}

// classes are all classes. Each one is in a file of its own.
var classes = []class{
	{"versions", 3, versions},
	{"patches", 3, patches},
	{"deletes", 2, deletes},
	{"lists", 2, lists},
	{"protocol", 2, protocol},
	{"webhooks", 3, webhooks},
	{"policies", 3, policies},
	{"definitions", 3, definitionStories},
	{"names", 1, nameStories},
	{"conversions", 2, conversions},
	{"objects", 3, objects},
	{"apply", 3, apply},
	{"access", 3, access},
	{"subresources", 3, subresources},
	{"quotas", 2, quotas},
}

// Classes returns the names of the classes, each as often as its weight says.
func Classes() (names []string) {
	for _, c := range classes {
		for range c.weight {
			names = append(names, c.name)
		}
	}
	return names
}
