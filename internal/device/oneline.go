package device

import "ebsscgo/internal/errline"

// OneLine is an error's text on one line.
func OneLine(err error) string { return errline.Of(err) }
