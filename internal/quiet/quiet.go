// Package quiet silences klog, by which GoMLX and go-xla log, until [End]: as it is initialised,
// go-xla complains of missing folders that this program does not search. Among packages whose
// imports are initialised Go takes the first by path. This one imports klog alone, so it comes
// before go-xla.
package quiet

import (
	"log/slog"

	"k8s.io/klog/v2"
)

func init() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) }

// End lets GoMLX and go-xla write to standard error again.
func End() { klog.ClearLogger() }
