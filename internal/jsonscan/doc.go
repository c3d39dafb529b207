// Package jsonscan finds the parts of a JSON text without decoding it. Every package of the
// server that reads JSON byte by byte is built on it:
//
//   - Scanner validates a text while it reads it, value by value. The decoders of quickjson
//     and ssa use it.
//   - Tokens reads the objects, arrays and strings of a text without validation. Together
//     with StringEnd, it is for code that extracts a part of a text, and for package bounds,
//     which measures bodies before they are decoded.
//   - Value is a part of a text, found by an index of its objects and arrays. Patches use it
//     to change a small part of a document and copy the rest unchanged.
//
// The package does not limit the cost of a document, which package bounds does, and creates
// no Go values, which package quickjson does.
package jsonscan
