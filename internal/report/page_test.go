package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
)

// element is an element of a page, with all text in it.
type element struct {
	name       string
	attributes map[string]string
	text       string
}

// ownScripts are the page's scripts.
var ownScripts = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// page writes reports of several studies, and returns the page and its elements but for its own scripts. They must be nested as they ought
// to be.
func page(t *testing.T, suite experiments.Suite) (content string, elements []element) {
	results := t.TempDir()
	add(t, results, "relu-lc7", 1, wrong(300), images("cifar10-jpeg"))
	add(t, results, "crelu-lc7", 1, wrong(200), images("cifar10-jpeg"))
	add(t, results, "crelu-lc7", 1, wrong(200), images("mnist32"))
	add(t, results, "unroll-0", 1)
	_, err := report.Write(t.Context(), results, "smoke", suite)
	require.NoError(t, err)
	content = read(t, results, report.PageFile)
	decoder := xml.NewDecoder(strings.NewReader(ownScripts.ReplaceAllString(content, "")))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open)
			return content, elements
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open, elements = append(open, len(elements)), append(elements, e)
		case xml.EndElement:
			require.Equal(t, elements[open[len(open)-1]].name, token.Name.Local)
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				elements[i].text += string(token)
			}
		}
	}
}

// The page opens with the score and the first study's table; every other report folds. Columns of numbers have what they are sorted by.
func TestPage(t *testing.T) {
	content, elements := page(t, suite)
	var headings, parts []string
	charts, verdicts := 0, 0
	for _, e := range elements {
		switch {
		case e.name == "h1" || e.name == "h2":
			headings = append(headings, e.text)
		case e.name == "section" || e.name == "details" && e.attributes["id"] != "":
			parts = append(parts, e.name+" "+e.attributes["id"])
		case e.attributes["class"] == "chart":
			charts++
		case e.name == "td" && e.attributes["class"] == "open":
			require.Equal(t, report.Open, e.text)
			verdicts++
		}
	}
	require.Equal(t, []string{"EB-SSC at profile smoke", "the rows of the paper's Table 2 CIFAR-10 (JPEG copy) (SHA-256 cifar10-jpeg…), backend xla-cpu",
		"claims", "unroll", "runs"}, headings)
	require.Equal(t, []string{"section table", "details claims", "details unroll", "details runs"}, parts)
	require.Equal(t, 2+2, charts, "of the table and of unroll")
	require.Equal(t, 14+1, verdicts, "of all claims, and of each comparison of the one that was measured")
	score := strings.Index(content, `<p class="score">Of 14 claims of the paper, 0 agree,`)
	require.Less(t, 0, score)
	require.Less(t, score, strings.Index(content, "<table"))
	require.Less(t, strings.Index(content, "<table"), strings.Index(content, "<details"))
	for _, text := range []string{
		"<h3>MNIST (padded to 32×32×3)",
		`<td class="number" data-sort="30.00">30.00</td>`,
		`<td data-sort="-10.00">−10.00 (−11.86 to −8.10)</td>`,
		`<td class="number" data-sort="1.3e6">1.3M</td>`,
		`<td data-sort="">–</td>`,
		`<td>T = 0</td>`,
		`not measured: <code>ebssc run decoding --profile smoke</code>`,
	} {
		require.True(t, strings.Contains(content, text), text)
	}
}

// The page loads nothing and runs no scripts but its own: no element names a file to load, the style names none, and browsers are told so.
// Titles stay text, in tables and in charts.
func TestPageLoadsNothing(t *testing.T) {
	hostile := slices.Clone(suite)
	hostile[0].Experiments = slices.Clone(hostile[0].Experiments)
	title := `ReLU</script><script src="https://example.org/x.js"></script> | <b onclick="x">c</b> ![a](https://example.org/b.png)`
	hostile[0].Experiments[0].Title = title
	content, elements := page(t, hostile)
	var policy []string
	named, styled := 0, ""
	for _, e := range elements {
		require.NotContains(t, []string{"link", "iframe", "object", "embed", "base", "video", "audio", "img", "b"}, e.name)
		require.NotContains(t, e.attributes, "src")
		switch {
		case e.name == "script":
			require.Equal(t, map[string]string{"type": "application/json"}, e.attributes)
			var option struct{ Series []struct{ Name string } }
			require.NoError(t, json.Unmarshal([]byte(e.text), &option))
			require.NotEmpty(t, option.Series)
			for _, s := range option.Series {
				if s.Name == title {
					named++
				}
			}
		case e.attributes["http-equiv"] == "Content-Security-Policy":
			policy = strings.Split(e.attributes["content"], "; ")
		case e.name == "style":
			styled = e.text
		}
	}
	require.Equal(t, 1, named, "the curve of the row")
	require.Equal(t, []string{"default-src 'none'", "img-src data:", "style-src 'unsafe-inline'"}, policy[:3])
	scripts := ownScripts.FindAllStringSubmatch(content, -1)
	sources := "script-src"
	for _, script := range scripts {
		sum := sha256.Sum256([]byte(script[1]))
		sources += fmt.Sprintf(" 'sha256-%s'", base64.StdEncoding.EncodeToString(sum[:]))
	}
	require.Equal(t, sources, policy[3])
	require.NotContains(t, styled, "url(")
	require.NotContains(t, styled, "@import")
}

// The libraries in the page are those that docs/dependencies.md states, and the page passes on what their licences ask for.
func TestPageLibraries(t *testing.T) {
	stated, err := os.ReadFile("../../docs/dependencies.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../results/quick/" + report.PageFile)
	require.NoError(t, err)
	content := string(page)
	libraries, err := filepath.Glob("page/*.min.js")
	require.NoError(t, err)
	require.Len(t, libraries, 3)
	for _, path := range libraries {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, strings.Contains(content, string(text)), path)
		sum := sha256.Sum256(text)
		require.Contains(t, string(stated), fmt.Sprintf("| `%s` | `%x` |", filepath.Base(path), sum))
	}
	for _, notice := range []string{"Copyright 2017-2026 The Apache Software Foundation", "Copyright (c) 2017, Baidu Inc.", "Copyright 2010-2016 Mike Bostock"} {
		require.True(t, strings.Contains(content, notice), notice)
	}
}

// All colours are declared for light and for dark, and figures stand on white in both.
func TestPageInTheDark(t *testing.T) {
	text, err := os.ReadFile("page/page.css")
	require.NoError(t, err)
	light, dark, found := strings.Cut(string(text), "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	dark, rest, _ := strings.Cut(dark, "\n}\n")
	require.Contains(t, light, "color-scheme: light dark")
	for _, use := range regexp.MustCompile(`var\((--[a-z]+)\)`).FindAllStringSubmatch(rest, -1) {
		require.Contains(t, light, use[1]+": #")
		require.Contains(t, dark, use[1]+": #")
	}
	require.Regexp(t, `img \{[^}]*background: #fff;`, rest)
}
