package report

import (
	"fmt"
	"slices"
	"strings"
)

// document is a report for reading: a Markdown file, and a part of the page.
type document struct {
	// name of the Markdown file without its end, and of the part of the page.
	name string
	// title of the Markdown file; empty where the page alone shows the document. heading on the page.
	title, heading string
	// score of the claims, above everything else; empty in other documents.
	score  string
	blocks []block
}

// block is the part of a report about one setting, or about one network in it.
type block struct {
	setting Setting
	// title of the block, such as that of the network; empty where it needs none.
	title   string
	table   table
	figures []figure
	notes   []string
}

// figure is a picture of a report.
type figure struct {
	// path in the profile's folder, and what the picture shows.
	path, title string
	// charts show the same on the page; without them the page shows the picture.
	charts []chart
}

// severalSettings says whether the blocks are of more than one setting. Headings then name them.
func (d document) severalSettings() bool {
	return slices.ContainsFunc(d.blocks, func(b block) bool { return b.setting.name() != d.blocks[0].setting.name() })
}

// markdown is the document as a Markdown file.
func (d document) markdown() []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n", d.title)
	if d.score != "" {
		fmt.Fprintf(&text, "%s\n\n", d.score)
	}
	several := d.severalSettings()
	for i, b := range d.blocks {
		if several && (i == 0 || b.setting.name() != d.blocks[i-1].setting.name()) {
			fmt.Fprintf(&text, "## %s\n\n", b.setting.Title())
		}
		switch {
		case b.title != "" && several:
			fmt.Fprintf(&text, "### %s\n\n", b.title)
		case b.title != "":
			fmt.Fprintf(&text, "## %s\n\n", b.title)
		}
		fmt.Fprintf(&text, "%s\n", b.table.markdown())
		for _, f := range b.figures {
			fmt.Fprintf(&text, "![%s](%s)\n", f.title, f.path)
		}
		if len(b.figures) > 0 {
			text.WriteString("\n")
		}
		text.WriteString(list(b.notes...))
		if len(b.notes) > 0 && i < len(d.blocks)-1 {
			text.WriteString("\n")
		}
	}
	return []byte(text.String())
}
