package api

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
