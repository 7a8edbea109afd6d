package device

import "strings"

// OneLine returns an error's text on one line, for users: GoMLX and the backends add line breaks and stack traces.
func OneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}
