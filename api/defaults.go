package api

// setDefault gives an optional field its value where a client left it out.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
