package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tableHeading = "experiment,dataset,dataset_sha256,profile,backend,seeds,epochs,params,train_err,train_err_std,test_err,test_err_std,test_images,commit\n"

// written writes a CSV file and returns its path.
func written(t *testing.T, path, text string) string {
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// Two profiles' folders side by side: a row that got worse beyond the interval gives exit status 3, and one line that names it.
func TestCompareEndToEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	sha, otherSHA := strings.Repeat("0123456789abcdef", 4), strings.Repeat("f", 64)
	written(t, "old/quick/table.csv", tableHeading+
		"relu-lc7,cifar10,"+sha+",quick,xla-cpu,1,6,36528,36.93,,37.51,,10000,abc\n"+
		"crelu-lc7,cifar10,"+sha+",quick,xla-cpu,1,6,72432,31.50,,33.02,,10000,abc\n"+
		"ssc-lc7,cifar10,"+sha+",quick,xla-cpu,3,6,72439,32.49,0.20,34.33,0.25,10000,abc\n"+
		"ssc-ebc67,cifar10,"+sha+",quick,xla-cpu,1,6,176757,24.80,,26.34,,10000,abc\n"+
		"gone,cifar10-unknown,"+sha+",quick,xla-cpu,1,6,1,24.80,,26.34,,,abc\n"+
		"strange,cifar10-unknown,"+sha+",quick,xla-cpu,1,6,1,,,26.34,,,abc\n")
	written(t, "new/quick/table.csv", tableHeading+
		"relu-lc7,cifar10,"+sha+",quick,xla-cpu,1,6,36528,36.70,,37.02,,10000,def\n"+
		"crelu-lc7,cifar10,"+sha+",quick,xla-cpu,1,6,72432,33.00,,35.02,,10000,def\n"+
		"ssc-lc7,cifar10,"+sha+",quick,xla-cpu,3,6,72439,31.10,0.20,33.10,0.30,10000,abc\n"+
		"ssc-ebc67,mnist32,"+otherSHA+",quick+beta=0.01,go,1,6,176757,0.80,,1.34,,10000,def\n"+
		"strange,cifar10-unknown,"+sha+",quick,xla-cpu,1,6,1,,,90.00,,,abc\n"+
		"fresh,cifar10,"+sha+",quick,xla-cpu,1,6,1,24.80,,26.34,,10000,abc\n")
	sweeps := "sweeps,dataset,dataset_sha256,profile,seeds,epochs,alpha,train_err,test_err,test_images,commit\n"
	written(t, "old/quick/unroll_summary.csv", sweeps+"0,mnist,"+sha+",quick,1,6,0,0.02607,0.02940,10000,abc\n1,mnist,"+sha+",quick,1,6,0,0.01085,0.02370,10000,abc\n")
	written(t, "new/quick/unroll_summary.csv", sweeps+"0,mnist,"+sha+",quick,1,6,0,0.02607,0.02940,10000,abc\n1,mnist,"+sha+",quick,1,6,0,0.02085,0.02940,10000,abc\n")

	status, stdout, stderr := ebssc("compare", "old/quick", "new/quick")
	require.Equal(t, 3, status, stderr)
	require.Equal(t, "ebssc: worse beyond the interval: table.csv experiment crelu-lc7, unroll_summary.csv sweeps 1\n", stderr)
	require.Equal(t, `A: old/quick
B: new/quick

table.csv: errors in percent, differences and 95 % intervals in percentage points
EXPERIMENT  TRAIN A  B      B−A     TEST A  B      B−A     INTERVAL          METHOD                  VERDICT
relu-lc7    36.93    36.70  -0.23   37.51   37.02  -0.49   -1.83 to +0.85    binomial, 10000 images  within
crelu-lc7   31.50    33.00  +1.50   33.02   35.02  +2.00   +0.69 to +3.31    binomial, 10000 images  worse
ssc-lc7     32.49    31.10  -1.39   34.33   33.10  -1.23   -1.86 to -0.60    Welch, 3 and 3 seeds    better
ssc-ebc67   24.80    0.80   -24.00  26.34   1.34   -25.00  -25.90 to -24.11  binomial, 10000 images  better
strange     –        –      –       26.34   90.00  +63.66  –                 none                    unknown
changed: commit abc → def (relu-lc7, crelu-lc7)
warning: not of the same images or profile: dataset cifar10 → mnist32, dataset_sha256 0123456789ab… → ffffffffffff…, profile quick → quick+beta=0.01, backend xla-cpu → go, commit abc → def (ssc-ebc67)
only in A: gone
only in B: fresh

unroll_summary.csv: errors in percent, differences and 95 % intervals in percentage points
SWEEPS  TRAIN A  B     B−A    TEST A  B     B−A    INTERVAL        METHOD                  VERDICT
0       2.61     2.61  +0.00  2.94    2.94  +0.00  -0.47 to +0.47  binomial, 10000 images  within
1       1.08     2.08  +1.00  2.37    2.94  +0.57  +0.12 to +1.02  binomial, 10000 images  worse

Welch: Welch's t interval of two means over seeds.
binomial (where a row has one seed, or none vary): Newcombe's interval of two error rates on so many test images. It
takes the images of A and B for different ones, hence is wider than need be, and leaves out how much seeds vary.
none: the number of test images is not known, so nothing is decided; train with several seeds.
`, stdout)

	status, back, stderr := ebssc("compare", "new/quick", "old/quick")
	require.Equal(t, 3, status)
	require.Equal(t, "ebssc: worse beyond the interval: table.csv experiment ssc-lc7, table.csv experiment ssc-ebc67\n", stderr)
	require.Contains(t, back, "only in B: gone\n")

	status, same, stderr := ebssc("compare", "old", "old")
	require.Zero(t, status, stderr)
	require.Empty(t, stderr)
	require.Contains(t, same, "\nquick/table.csv: errors in percent")
	for _, text := range []string{"worse", "better", "changed:", "warning:", "only in"} {
		require.NotContains(t, same, text)
	}
	status, _, stderr = ebssc("compare", "old/quick/table.csv", "new/quick/table.csv")
	require.Equal(t, 3, status)
	require.Equal(t, "ebssc: worse beyond the interval: table.csv experiment crelu-lc7\n", stderr)
}

// What cannot be compared is an error, status 1, in one line.
func TestCompareErrors(t *testing.T) {
	folder := t.TempDir()
	table := written(t, filepath.Join(folder, "table.csv"), tableHeading+"relu-lc7,cifar10,01,quick,xla-cpu,1,6,1,1,,2,,10000,abc\n")
	damaged := written(t, filepath.Join(folder, "damaged.csv"), tableHeading+"relu-lc7,cifar10\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "accepts 2 arg(s)"},
		{[]string{table}, "accepts 2 arg(s)"},
		{[]string{table, "/does/not/exist"}, "/does/not/exist"},
		{[]string{table, folder}, "a file with a file"},
		{[]string{table, damaged}, damaged + " is damaged"},
		{[]string{folder, t.TempDir()}, "has no table to compare"},
	} {
		status, stdout, stderr := ebssc(append([]string{"compare"}, c.args...)...)
		require.Equal(t, 1, status, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, c.says)
		require.Empty(t, stdout)
	}
}
