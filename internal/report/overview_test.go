package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunsWithOtherSettingsAreNotInTheChartOfErrors(t *testing.T) {
	for differences, want := range map[string]bool{
		"": true, "epochs=10": true, "width=96 epochs=4": true, "epochs=10 muon_decay=0": false, "batch_size=32": false,
	} {
		require.Equal(t, want, RunsRow{Differences: strings.Fields(differences)}.onlyScaled(), differences)
	}
}
