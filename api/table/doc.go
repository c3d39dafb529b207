// Package table has the rows in which kubectl prints objects: a column and its cell are added
// together. Other functions format cells.
package table
