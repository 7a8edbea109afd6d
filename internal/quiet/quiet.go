// Package quiet keeps go-xla from complaining, as it is initialised, of folders for plugins that it
// does not find. This program does not search them. Go initialises packages in the order of their
// paths as soon as what they import is: this one, which imports the log alone, before go-xla.
package quiet

import (
	"log/slog"

	"k8s.io/klog/v2"
)

func init() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) }

// End lets GoMLX and go-xla write to standard error again.
func End() { klog.ClearLogger() }
