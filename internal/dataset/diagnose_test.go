package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/device"
)

func TestDiagnose(t *testing.T) {
	t.Setenv("EBSSC_CACHE", t.TempDir())
	t.Setenv(EnvVar, "")
	for _, finding := range Diagnose("") {
		require.Equal(t, device.Missing, finding.Status)
		require.NotEmpty(t, finding.Do)
	}

	folder := filepath.Dir(blackCIFAR10(t))
	colours, digits := both(t, folder)
	require.Equal(t, device.OK, colours.Status)
	require.Contains(t, colours.Detail, Title(CIFAR10UnknownName))
	require.Equal(t, device.Missing, digits.Status)

	require.NoError(t, os.Remove(filepath.Join(folder, cifarFolder, cifarFiles[2])))
	colours, _ = both(t, folder)
	require.Equal(t, device.Missing, colours.Status)
	require.Contains(t, colours.Detail, cifarFiles[2])
}

func both(t *testing.T, folder string) (colours, digits device.Finding) {
	t.Helper()
	findings := Diagnose(folder)
	require.Len(t, findings, 2)
	return findings[0], findings[1]
}

// Verify names what is there, and what is damaged; with nothing there it says what to do.
func TestVerify(t *testing.T) {
	t.Setenv(cache.EnvVar, t.TempDir())
	t.Setenv(EnvVar, "")
	_, err := Verify("")
	require.ErrorContains(t, err, "ebssc data fetch")

	folder := filepath.Dir(blackCIFAR10(t))
	sets, err := Verify(folder)
	require.NoError(t, err)
	require.Len(t, sets, 1)
	require.Equal(t, CIFAR10UnknownName, sets[0].Name)

	require.NoError(t, os.Truncate(filepath.Join(folder, cifarFolder, cifarFiles[0]), 7))
	_, err = Verify(folder)
	require.ErrorContains(t, err, cifarFiles[0])
}
