package report_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
)

// screenshots is where TestPageInABrowser writes pictures of a made page and of the committed ones, to look at.
var screenshots = flag.String("screenshots", "", "write screenshots of the pages to this `folder`")

// patience is how long the browser may take for one thing: a second, but on a machine with much else to do.
const patience = time.Minute

// browser is a tab of a headless Chromium.
type browser struct {
	*testing.T
	tab context.Context
	// console holds what the tab wrote to its console, errors of scripts and of the page's policy, too.
	console iter.Seq2[chromedp.ConsoleMessage, error]
}

// startBrowser starts Chromium. It skips the test where there is none.
func startBrowser(t *testing.T) browser {
	// Root and many containers have no sandbox; the page is our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox)
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	allocator, cancel := chromedp.NewExecAllocator(limited, options...)
	t.Cleanup(cancel)
	tab, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	err := chromedp.Do(tab)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("the page is not tested in a browser: there is no Chromium; install it, on Debian and Ubuntu with apt-get install chromium")
	}
	require.NoError(t, err)
	return browser{t, tab, chromedp.Console(tab)}
}

// do carries out actions.
func (b browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.tab, actions...))
}

// evaluate computes an expression in JavaScript.
func evaluate[T any](b browser, expression string, values ...any) T {
	b.Helper()
	result, err := chromedp.Run(b.tab, chromedp.Evaluate[T](fmt.Sprintf(expression, values...)))
	require.NoError(b, err)
	return result
}

// until tries again and again, until something is done.
func (b browser) until(done func() bool, what string) {
	b.Helper()
	for begun := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		require.Less(b, time.Since(begun), patience, what)
	}
}

// eventually waits until an expression in JavaScript is true.
func (b browser) eventually(expression string, values ...any) {
	b.Helper()
	expression = fmt.Sprintf(expression, values...)
	b.until(func() bool {
		ok, err := chromedp.Run(b.tab, chromedp.Evaluate[bool](expression))
		return ok && err == nil // just after it was opened a page refuses
	}, expression)
}

// open opens a page in a window of that width, in light or in dark, and waits until the charts that are in the open are drawn.
func (b browser) open(path string, width int64, scheme string) {
	b.Helper()
	absolute, err := filepath.Abs(path)
	require.NoError(b, err)
	b.do(chromedp.EmulateViewport(width, 844, chromedp.EmulateScale(1)))
	b.scheme(scheme)
	b.do(chromedp.Navigate("file://" + absolute))
	b.drawn()
}

// scheme makes the system light or dark.
func (b browser) scheme(name string) {
	b.Helper()
	_, err := chromedp.Call(b.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	require.NoError(b, err)
}

// unfold opens all that folds, and waits until its charts are drawn.
func (b browser) unfold() {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => d.open = true)`))
	b.drawn()
}

// drawn waits until the charts that have a place are drawn.
func (b browser) drawn() {
	b.Helper()
	b.eventually(`[...document.querySelectorAll(".chart")].every((box) => !box.checkVisibility() || box.querySelector("svg"))`)
}

// column reads the cells of a table's column, from 1, that can be seen.
func (b browser) column(table string, number int) []string {
	b.Helper()
	return evaluate[[]string](b, `[...document.querySelectorAll("%s tbody tr")].filter((row) => row.getClientRects().length).map((row) => row.cells[%d - 1].textContent)`, table, number)
}

// pixel is where a point of a chart, in the units of its axes, stands in the window. It scrolls there.
func (b browser) pixel(chart string, x, y float64) (left, top float64) {
	b.Helper()
	at := evaluate[[2]float64](b, `(() => {
		const box = document.querySelector("%s");
		box.scrollIntoView({block: "center"});
		const [x, y] = echarts.getInstanceByDom(box).convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [%g, %g]);
		const place = box.getBoundingClientRect();
		return [place.x + x, place.y + y];
	})()`, chart, x, y)
	return at[0], at[1]
}

// problems are the messages on the console.
func (b browser) problems() (texts []string) {
	b.do(chromedp.Evaluate[chromedp.Void](`console.info("that is all")`))
	for message, err := range b.console {
		require.NoError(b, err)
		if message.Text == "that is all" {
			break
		}
		texts = append(texts, message.String())
	}
	return texts
}

// madePage writes a page that has everything a page can have, and returns its path.
func madePage(t *testing.T) string {
	results := t.TempDir()
	for seed := 1; seed <= 3; seed++ {
		add(t, results, "relu-lc7", seed, wrong(300+10*seed), faster(seed))
		add(t, results, "crelu-lc7", seed, wrong(220+9*seed), faster(seed+1))
		add(t, results, "ssc-lc7", seed, wrong(230), faster(seed+2))
	}
	add(t, results, "crelu-sn-lc7", 1, wrong(245), faster(3))
	add(t, results, "ssc-ebc67", 1, wrong(90), faster(4))
	add(t, results, "relu-lc7", 1, wrong(300), images("mnist32"))
	for i := range 5 {
		add(t, results, fmt.Sprintf("unroll-%d", i), 1, steeper(i))
		add(t, results, fmt.Sprintf("unroll-%d", i), 2, steeper(i+1))
	}
	ablations, err := suite.Study("ablations")
	require.NoError(t, err)
	for i, e := range ablations.Experiments {
		add(t, results, e.Name, 1, faster(i%9))
	}
	for _, rate := range []float64{0.005, 0.01, 0.02, 0.05} {
		add(t, results, "relu-lc7", 1, func(r *record.Record) {
			*r = recordtest.New(t, suite, "relu-lc7", "smoke", 1, experiments.Overrides{HeldOut: 100, Settings: experiments.Settings{experiments.ParamMuonRate: rate}})
		})
	}
	add(t, results, "ssc-ebc17", 1, decodings(-0.001))
	write(t, results)
	return filepath.Join(results, "smoke", report.PageFile)
}

// faster lowers the error while training.
func faster(times int) change {
	return func(r *record.Record) {
		for i := range r.Curve {
			r.Curve[i].BatchErr *= 1 - 0.1*float64(times)
		}
	}
}

// steeper lowers the training loss after the first epoch, over more than a decade.
func steeper(times int) change {
	return func(r *record.Record) {
		for i := range r.Curve {
			factor := math.Pow(0.1, float64(i)*(1+0.2*float64(times)))
			r.Curve[i].Trace.Objective *= factor
			*r.Curve[i].Trace.Penalty *= factor
		}
	}
}

// The page does in a browser what it promises: tables sort and filter, charts answer to the mouse, nothing is wider than the window of a
// phone, it is legible in light and dark, and no script fails.
func TestPageInABrowser(t *testing.T) {
	b := startBrowser(t)
	path := madePage(t)
	b.open(path, 1280, "light")
	b.sorts()
	b.zooms()
	b.hovers()
	b.hidesRows()
	b.filters()
	b.followsTheScheme()
	b.open(path, 390, "light")
	require.Less(t, evaluate[float64](b, `document.querySelector(".score").getBoundingClientRect().bottom`), 400.0, "the verdict comes first")
	b.unfold()
	require.LessOrEqual(t, evaluate[int](b, `document.documentElement.scrollWidth`), 390)
	if *screenshots != "" {
		b.shoot(path, "made")
		pages, err := filepath.Glob("../../results/*/" + report.PageFile)
		require.NoError(t, err)
		for _, page := range pages {
			b.shoot(page, filepath.Base(filepath.Dir(page)))
		}
	}
	require.Empty(t, b.problems())
}

// sorts checks that a click on the head of a column sorts its numbers, the negative ones, too, and a second one the other way round.
func (b browser) sorts() {
	const table = "#table > .table"
	differences := []string{"–", "−8.20 (−10.37 to −6.03)", "0.70", "−1.50", "−14.00"}
	require.Equal(b, differences, b.column(table, 5))
	for _, order := range [][]int{{4, 1, 3, 2, 0}, {2, 3, 1, 4, 0}} { // the dash comes last
		b.do(chromedp.Click(chromedp.CSS(table + " th:nth-child(5)")))
		var sorted []string
		for _, i := range order {
			sorted = append(sorted, differences[i])
		}
		b.until(func() bool { return slices.Equal(sorted, b.column(table, 5)) }, "sorted")
	}
	b.do(chromedp.Click(chromedp.CSS(table + " th:nth-child(1)")))
	b.eventually(`document.querySelector("%s td").textContent === "CReLU(SN)+LC₇"`, table)
}

// zooms checks that dragging over a chart shows that part of it, and a double click all of it.
func (b browser) zooms() {
	const extent = `echarts.getInstanceByDom(document.querySelector("#table .chart")).getModel().getComponent("xAxis").axis.scale.getExtent()`
	whole := evaluate[[]float64](b, extent)
	require.Equal(b, []float64{1, 4}, whole)
	fromX, fromY := b.pixel("#table .chart", 1.8, 50)
	toX, toY := b.pixel("#table .chart", 3.2, 15)
	b.do(chromedp.MouseEvent(chromedp.MousePressed, fromX, fromY, chromedp.ButtonLeft), chromedp.MouseEvent(chromedp.MouseMoved, toX, toY, chromedp.ButtonLeft),
		chromedp.MouseEvent(chromedp.MouseReleased, toX, toY, chromedp.ButtonLeft))
	b.eventually(extent + `.every((end, i) => Math.abs(end - [1.8, 3.2][i]) < 0.1)`)
	b.do(chromedp.MouseClickXY(fromX, fromY, chromedp.ClickCount(2)))
	b.eventually(extent + `.join() === "1,4"`)
}

// hovers checks that charts show the values at the mouse, with what else is known of them.
func (b browser) hovers() {
	for _, c := range []struct {
		chart string
		x, y  float64
		texts []string
	}{
		{"#table .panels > :nth-child(1) .chart", 3, 20, []string{"epoch 3", "ReLU+LC₇21.33 % (18.67 to 24.00)", "SSC+EBC₆₋₇16.00 %"}},
		{"#table .panels > :nth-child(2) .chart", -3, 1, []string{"CReLU+LC₇−8.20 (−10.37 to −6.03) points"}},
	} {
		b.until(func() bool {
			x, y := b.pixel(c.chart, c.x, c.y)
			b.do(chromedp.MouseEvent(chromedp.MouseMoved, x+1, y), chromedp.MouseEvent(chromedp.MouseMoved, x, y))
			shown := evaluate[string](b, `document.querySelector("%s").textContent`, c.chart)
			return !slices.ContainsFunc(c.texts, func(text string) bool { return !strings.Contains(shown, text) })
		}, "values at the mouse")
	}
}

// hidesRows checks that the legend switches a row off in all charts that stand together, and on again.
func (b browser) hidesRows() {
	const shown = `[...document.querySelectorAll("#table .chart")].map((box) => box.querySelectorAll("path[stroke='#d95f02'], path[fill='#d95f02']").length > 0).join()`
	for _, c := range []struct{ shown, pressed string }{{"true,true", "true"}, {"false,false", "false"}, {"true,true", "true"}} {
		b.eventually(`%s === "%s"`, shown, c.shown)
		require.Equal(b, c.pressed, evaluate[string](b, `document.querySelector("#table .legend button:nth-child(2)").ariaPressed`))
		b.do(chromedp.Click(chromedp.CSS("#table .legend button:nth-child(2)")))
	}
}

// filters checks that the box above a long table hides rows without its text.
func (b browser) filters() {
	b.unfold()
	all := b.column("#runs", 1)
	b.do(chromedp.SendKeys(chromedp.CSS("#runs input"), "ssc-EBC"))
	var matching []string
	for _, name := range all {
		if strings.Contains(name, "ssc-ebc") {
			matching = append(matching, name)
		}
	}
	b.until(func() bool { return slices.Equal(matching, b.column("#runs", 1)) }, "filtered")
	require.Equal(b, fmt.Sprintf("%d of %d", len(matching), len(all)), evaluate[string](b, `document.querySelector("#runs output").textContent`))
}

// followsTheScheme checks that page and charts change their colours when the system gets dark.
func (b browser) followsTheScheme() {
	b.scheme("dark")
	b.eventually(`getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 26)"`)
	b.eventually(`document.querySelector("#table .chart path[stroke='#66c2a5']") !== null`)
}

// shoot writes screenshots of a page: on a narrow and on a wide window, in light and dark, folded and unfolded.
func (b browser) shoot(path, name string) {
	require.NoError(b, os.MkdirAll(*screenshots, 0o755))
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			b.open(path, width, scheme)
			b.capture(fmt.Sprintf("%s-%d-%s", name, width, scheme))
			b.unfold()
			b.capture(fmt.Sprintf("%s-%d-%s-unfolded", name, width, scheme))
		}
	}
}

// capture writes a screenshot of the whole page.
func (b browser) capture(name string) {
	picture, err := chromedp.Run(b.tab, chromedp.FullScreenshot(100))
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(*screenshots, name+".png"), picture, 0o644))
}
