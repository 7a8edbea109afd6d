package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the packages from the top of the house to its foundation. A package imports lower ones alone, as CONTRIBUTING.md says.
var rooms = []string{
	"cmd/ebssc", "notebooks/nb", "internal/study", "internal/bench", "internal/report", "internal/stats", "internal/train", "internal/decode",
	"internal/record", "internal/dataset", "internal/device", "internal/plot", "internal/cache", "internal/safefile",
	"ablations", "experiments", "ebssc", "ebssc/internal/ops",
}

// Imports run down the house and never up.
func TestImportsRunDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "ebsscgo/...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if strings.HasSuffix(words[0], "test") { // helpers of tests
			continue
		}
		place := slices.Index(rooms, strings.TrimPrefix(words[0], "ebsscgo/"))
		require.GreaterOrEqual(t, place, 0, "%s has no place in the house: see CONTRIBUTING.md", words[0])
		for _, imported := range words[1:] {
			if below, ok := strings.CutPrefix(imported, "ebsscgo/"); ok {
				require.Greater(t, slices.Index(rooms, below), place, "%s imports %s", words[0], imported)
			}
		}
	}
}

// Every file that a page links is there.
func TestLinks(t *testing.T) {
	const project = "../.."
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, pages := range []string{"*.md", "docs/*.md", "experiments/*/*.md", "results/*.md", "results/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(project, pages))
		require.NoError(t, err)
		for _, page := range found {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, match := range link.FindAllStringSubmatch(string(text), -1) {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), match[1]))
				require.NoError(t, err, page)
			}
		}
	}
}
