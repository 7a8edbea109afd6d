package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	sections = regexp.MustCompile(`(?m)^##+ (.*)$`)
	// dropped are the characters of a heading that GitHub leaves out of its anchor.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchor is the name by which GitHub links a heading.
func anchor(heading string) string {
	return "#" + strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// Links between the pages of the documentation lead to files and headings that exist, and a page of more than two screens has links to its
// sections above the first.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "experiments/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	anchors, texts := map[string]map[string]bool{}, map[string]string{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		texts[page], anchors[page] = string(text), map[string]bool{}
		for _, heading := range sections.FindAllStringSubmatch(string(text), -1) {
			anchors[page][anchor(heading[1])] = true
		}
	}
	followed := 0
	for page, text := range texts {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			path, heading, hasHeading := strings.Cut(link[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			require.True(t, target == page || exists(target), "%s links %s, which is missing", page, link[1])
			require.True(t, !hasHeading || anchors[target]["#"+heading], "%s links %s, and there is no such heading", page, link[1])
			followed++
		}
		const twoScreens = 75 // lines
		if strings.Count(text, "\n") > twoScreens {
			above, _, _ := strings.Cut(text, "\n## ")
			for _, heading := range sections.FindAllString(text, -1) {
				if title, ok := strings.CutPrefix(heading, "## "); ok {
					require.Contains(t, above, "]("+anchor(title)+")", "%s is long: its contents list lacks a section", page)
				}
			}
		}
	}
	require.Greater(t, followed, 100)
}

// The README shows the table of profile quick and the score of its claims as they are.
func TestREADMEShowsTheResults(t *testing.T) {
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	for _, name := range []string{"overnight/table.md", "quick/table.md", "quick/" + report.ClaimsFile} {
		text, err := os.ReadFile(filepath.Join(root, "results", name))
		require.NoError(t, err)
		part := strings.Split(string(text), "\n\n")[1] // below the title
		require.Contains(t, string(readme), part, "copy it from results/%s", name)
	}
}

// The documentation shows the profiles as they are declared, and the held-out errors of trials as they are recorded.
func TestDocsShowWhatIsDeclaredAndRecorded(t *testing.T) {
	root := filepath.Join("..", "..")
	studies, recipe := readAt(t, root, "docs", "studies.md"), readAt(t, root, "docs", "recipe.md")
	for _, p := range experiments.Profiles {
		line := "| `" + p.Name + "` |"
		for _, scale := range []experiments.Scale{p.Table, p.Unroll, p.Decoding, p.Ablations} {
			images := "all"
			if scale.TrainImages > 0 {
				images = fmt.Sprint(scale.TrainImages)
			}
			line += fmt.Sprintf(" %d, %s, %d |", scale.Width, images, scale.Epochs)
		}
		require.Contains(t, studies, line+" "+p.About+" |")
	}
	recipe = strings.ReplaceAll(recipe, "**", "")
	trials, cells := 0, map[string]int{}
	for _, profile := range []string{"quick", "overnight"} {
		p, err := report.Load(filepath.Join(root, "results"), profile, suite)
		require.NoError(t, err)
		for _, r := range p.Records {
			if of, _, err := suite.Experiment(r.Run.Experiment); err == nil && r.Run.HeldOut > 0 {
				shown := fmt.Sprintf(" %.1f |", r.TestErr)
				if of.Grid != nil {
					shown = fmt.Sprintf("%.2f", r.TestErr)
				}
				cells[shown]++
				require.GreaterOrEqual(t, strings.Count(recipe, shown), cells[shown], "the held-out error of %s", r.ID)
				trials++
			}
		}
	}
	require.Greater(t, trials, 80)
}
