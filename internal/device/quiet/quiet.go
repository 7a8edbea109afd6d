// Package quiet keeps go-xla from logging, before main, that a user without $HOME has no plugins at home. Where that matters,
// it is said in one line when a plugin is looked for.
//
// Go initialises packages in the order of their import paths, as far as they do not need one another, and this one needs
// less and comes earlier than go-xla's.
package quiet

import (
	"os"

	"k8s.io/klog/v2"
)

func init() {
	if _, err := os.UserHomeDir(); err != nil {
		klog.SetLogger(klog.Logger{})
	}
}

// End lets go-xla log again.
func End() { klog.ClearLogger() }
