// Package jsonscan finds its way through JSON text without decoding it. Every package
// of the server that reads JSON byte by byte is built on it:
//
//   - Scanner checks a text while it goes through it, value by value. The decoders of
//     quickjson and ssa use it.
//   - Tokens goes through a text without a check, from one object, array or string to
//     the next. Together with StringEnd, it serves those who cut a part out of a text,
//     and package bounds, which measures bodies before any decoder sees them.
//   - Value is a part of a text in an index of its objects and arrays. Patches use it
//     to change a small part of a document and to copy the rest as it stands.
//
// The package has no opinion on what a document may cost, which is the job of package
// bounds, and makes no Go values, which is the job of package quickjson.
package jsonscan
