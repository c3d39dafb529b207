// Package packages makes the packages with which people start a server from other languages: for npm, Python, Java and
// Rust. Their sources are in the directories of packaging. What is written here is only the version, and which
// programs are in them: both come from the build information of the programs.
//
// A package is made with the tool of its language where that needs no network (npm pack, javac, cargo package), and is a
// plain archive otherwise. The same programs give the same files.
package packages
