package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// storeys are the packages from the top of the house to its foundation. A package imports lower ones alone, as CONTRIBUTING.md says.
var storeys = []string{
	"cmd/ebssc", "notebooks/nb", "internal/study", "internal/bench", "internal/report", "internal/stats", "internal/train", "internal/record", "internal/decode",
	"internal/dataset", "internal/device", "internal/plot", "internal/device/quiet", "internal/cache", "internal/atomicfile", "ablations", "experiments", "ebssc", "ebssc/internal/ops",
}

// Imports run down the house and never up.
func TestImportsRunDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "ebsscgo/...").Output()
	require.NoError(t, err)
	const module = "ebsscgo/"
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name := strings.TrimPrefix(words[0], module)
		if strings.HasSuffix(name, "test") { // helpers of tests
			continue
		}
		storey := slices.Index(storeys, name)
		require.GreaterOrEqual(t, storey, 0, "%s has no place in the house: see CONTRIBUTING.md", name)
		for _, imported := range words[1:] {
			if below, ok := strings.CutPrefix(imported, module); ok {
				require.Greater(t, slices.Index(storeys, below), storey, "%s imports %s", name, below)
			}
		}
	}
}
