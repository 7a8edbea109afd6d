package report_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
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
	for _, pattern := range []string{"*.md", "docs/*.md", "experiments/*/*.md", "results/*.md"} {
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

// The documentation shows the profiles as they are declared.
func TestDocsShowWhatIsDeclared(t *testing.T) {
	studies := readAt(t, filepath.Join("..", ".."), "docs", "studies.md")
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
}

// The recipe's page has the held-out error of each recorded trial, and in their places those of Muon's rates and of the grid of sweeps.
func TestRecipeShowsTheTrials(t *testing.T) {
	root := filepath.Join("..", "..")
	recipe := strings.ReplaceAll(readAt(t, root, "docs", "recipe.md"), "**", "")
	recipe = strings.ReplaceAll(recipe, "\n", " ")
	rates := []any{0.005, 0.01, 0.02, 0.04}
	trials, shown, rows := 0, map[string]int{}, map[string][]string{}
	put := func(row string, columns, column int, cell string) {
		if rows[row] == nil {
			rows[row] = make([]string, columns)
		}
		rows[row][column] = cell
	}
	for _, profile := range []string{"quick", "overnight"} {
		p, err := report.Load(filepath.Join(root, "results"), profile, suite)
		require.NoError(t, err)
		for _, r := range p.Records {
			study, e, err := suite.Experiment(r.Run.Experiment)
			if err != nil || r.Run.HeldOut == 0 {
				continue
			}
			trials++
			cell := fmt.Sprintf(" %.1f |", r.TestErr)
			if study.Grid != nil {
				cell = fmt.Sprintf(" %.2f", r.TestErr)
			}
			shown[cell]++
			require.GreaterOrEqual(t, strings.Count(recipe, cell), shown[cell], "the held-out error of %s", r.ID)

			differs := func(row ...string) bool { // from its profile in other settings than those of a row
				return slices.ContainsFunc(suite.Differences(r.Run), func(difference string) bool {
					name, _, _ := strings.Cut(difference, "=")
					return !slices.Contains(row, name) && !slices.Contains(row, difference)
				})
			}
			set := r.Run.Settings
			rate := slices.Index(rates, set[experiments.ParamMuonRate])
			switch short := []string{"width", "images=20000", "epochs=2", "held_out", experiments.ParamMuonRate}; {
			case study.Grid != nil && set[ebssc.ParamAlpha] == 0.0 && !differs("held_out", ebssc.ParamAlpha, ebssc.ParamEnergyScale, experiments.ParamLearningRate):
				row := fmt.Sprintf("energy_scale %v, learning_rate %v", set[ebssc.ParamEnergyScale], set[experiments.ParamLearningRate])
				if slices.ContainsFunc(study.Grid.Points(), func(point experiments.Settings) bool { return maps.Equal(set.With(point), set) }) {
					put(row, len(study.Experiments), r.Run.Network.Sweeps, fmt.Sprintf("%.2f", r.TestErr))
				}
			case study.Name == "table" && profile == "quick" && rate >= 0 && r.Run.Epochs == 2 && !differs(short...):
				put(fmt.Sprintf("%s, width %d", e.Title, r.Run.Width()), len(rates), rate, fmt.Sprintf("%.1f", r.TestErr))
			case study.Name == "table" && profile == "quick" && rate >= 0 && r.Run.Epochs == 2 && !differs(append(short, "muon_decay=0")...):
				put(fmt.Sprintf("%s, width %d, no weight decay", e.Title, r.Run.Width()), len(rates), rate, fmt.Sprintf("%.1f", r.TestErr))
			}
		}
	}
	require.Greater(t, trials, 80)
	require.Greater(t, len(rows), 8+4)
	for row, cells := range rows {
		line := "| " + row + " |"
		for _, cell := range cells {
			line += strings.TrimRight(" "+cell, " ") + " |"
		}
		require.True(t, strings.Contains(recipe, line), "docs/recipe.md lacks %q", line)
	}
}
