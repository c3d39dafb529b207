package api

// OnCreate returns warnings about a change as warnings about a new object.
func OnCreate[T Object](warnings func(obj, old T) []string) func(T) []string {
	return func(obj T) []string {
		var none T
		return warnings(obj, none)
	}
}

// IgnoreOld returns warnings about an object as warnings about each of its updates.
func IgnoreOld[T Object](warnings func(T) []string) func(obj, old T) []string {
	return func(obj, _ T) []string { return warnings(obj) }
}

// IsNew reports whether old, the object before a write, is missing.
func IsNew[T Object](old T) bool {
	var none T
	return any(old) == any(none)
}

// SpecChanged reports whether an object is new, or more than its metadata and status
// changed.
func SpecChanged[T Object](obj, old T) bool {
	return IsNew(old) || obj.GetGeneration() != old.GetGeneration()
}
