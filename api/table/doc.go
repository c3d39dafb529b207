// Package table contains the printer columns that several kinds share, and functions that
// format cells.
package table
