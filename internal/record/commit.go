package record

import "cmp"

// built is the commit that build.sh gives the linker.
var built string

// Commit returns the git commit that build.sh built the program from, with "+changes" if its folder
// differed from it, or "unknown".
func Commit() string { return cmp.Or(built, "unknown") }
