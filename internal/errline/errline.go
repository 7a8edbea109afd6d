// Package errline prints errors for people: on one line.
package errline

import "strings"

// Of is an error's text without the line breaks, and the stack traces below them, that libraries add.
func Of(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
