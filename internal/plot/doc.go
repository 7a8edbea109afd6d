// Package plot turns numbers into pictures: each function makes a [Figure] of one kind, which is then written to files.
package plot
