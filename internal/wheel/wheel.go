// Package wheel is the old name of what internal/cache does.
package wheel

import "ebsscgo/internal/cache"

// File is a cache.WheelFile.
type File = cache.WheelFile

// Fetch is cache.Fetch.
var Fetch = cache.Fetch
