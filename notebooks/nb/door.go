package nb

import (
	"context"
	"fmt"
	"image"
	"math"
	"os"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/stats"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// Pictures.
type (
	// Figure is a picture to show.
	Figure = plot.Figure
	// Chart is a line chart of Curves, and Curve a series of Points with a name.
	Chart = plot.Chart
	Curve = plot.Curve
	Point = plot.Point
	// Series is a named series of Values with their intervals, see Dots.
	Series = plot.Series
	Value  = plot.Value
	// Grid arranges Tiles, small pictures with captions, in rows and columns.
	Grid = plot.Grid
	Tile = plot.Tile
)

// At is a point of a curve with a single measurement.
func At(x, y float64) Point { return plot.At(x, y) }

// Dots returns a dot plot: a row for each name, a colour for each series.
func Dots(title, axis string, names []string, series ...Series) Figure {
	return Must(plot.Dots(title, axis, names, series...))
}

// SideBySide returns the figure of one or more plots, of that total size in points.
func SideBySide(width, height vg.Length, plots ...*gonum.Plot) Figure {
	return plot.Row(width, height, plots...)
}

// Photo renders an image [height, width, channels]: low is black, high is white.
func Photo(values []float64, height, width, channels int, low, high float64) image.Image {
	return plot.Photo(values, height, width, channels, low, high)
}

// Map renders numbers [height, width] in colours: 0 is white, limit red and −limit blue.
func Map(values []float64, height, width int, limit float64) image.Image {
	return plot.Map(values, height, width, limit)
}

// Data.
type (
	// Set is a data set, and Images are the images of one of its parts.
	Set    = dataset.Set
	Images = dataset.Images
)

// Data returns the data set of a kind: from the folder that $EBSSC_DATA names, the cache or a download. If CIFAR-10 cannot be
// had, MNIST padded to its size replaces it.
func Data(which experiments.Images) *Set {
	return Must(dataset.FindOrStandIn(context.Background(), which, "", os.Stdout))
}

// DatasetTitle is the name of a data set for readers.
func DatasetTitle(name string) string { return dataset.Title(name) }

// TestImage returns a test image of a set between 0 and 1, [1, H, W, C], and its label.
func TestImage(set *Set, number int) (*tensors.Tensor, int) {
	checkNumber(number, set.Test.Len())
	return set.Test.Slice(number, number+1).Tensor(), int(set.Test.Labels[number])
}

// checkNumber ends the cell with a line if there is no image of that number.
func checkNumber(number, images int) {
	if number < 0 || number >= images {
		Check(fmt.Errorf("there is no image %d: choose a number from 0 to %d", number, images-1))
	}
}

// Pick returns the images of those numbers from images [N, H, W, C].
func Pick(images *tensors.Tensor, numbers ...int) *tensors.Tensor {
	for _, number := range numbers {
		checkNumber(number, images.Shape().Dim(0))
	}
	return dataset.Pick(images, numbers...)
}

// First returns the first images of images [N, H, W, C], up to count.
func First(images *tensors.Tensor, count int) *tensors.Tensor {
	numbers := make([]int, min(count, images.Shape().Dim(0)))
	for i := range numbers {
		numbers[i] = i
	}
	return Pick(images, numbers...)
}

// Values returns the numbers of a tensor in row-major order.
func Values(tensor *tensors.Tensor) []float64 { return plot.Values(tensor) }

// Decodings.
type (
	// Decoder decodes the codes of a network to images.
	Decoder = decode.Model
	// Level is what it decodes from one block, and Fidelity measures that.
	Level    = decode.Level
	Fidelity = decode.Fidelity
)

// OrNaN returns a measurement, NaN where there is none.
func OrNaN(measurement *float64) float64 {
	if measurement == nil {
		return math.NaN()
	}
	return *measurement
}

// InitialModel returns the model of a run before training.
func InitialModel(backend compute.Backend, run experiments.Run) *model.Store {
	return Must(train.InitialModel(backend, run))
}

// Shrinkage draws the paper's Fig. 2, asymmetric shrinkage.
func Shrinkage(backend compute.Backend) Figure { return Must(decode.Shrinkage(backend)) }

// Reconstructions draws the paper's Fig. 4: an image decoded from several levels, and the class biases of each.
func Reconstructions(title string, classes []string, input *tensors.Tensor, levels []Level) Figure {
	return decode.Reconstructions(title, classes, input, levels)
}

// Residuals draws a panel of the paper's Fig. 5: how class hypotheses change the decodings of images from one level.
func Residuals(title string, classes []string, images *tensors.Tensor, labels []uint8, level Level) Figure {
	return decode.Residuals(title, classes, images, labels, level)
}

// Dictionaries draws the first block's filters before and after training.
func Dictionaries(title string, before, after *tensors.Tensor) Figure {
	return decode.Dictionaries(title, before, after)
}

// Records and reports.
type (
	// Record is a finished run, and Epoch a point of its learning curve.
	Record = record.Record
	Epoch  = record.Epoch
	// Row is a row of a study's table: an experiment compared with its base and with the paper.
	Row = report.Row
	// Claim is a claim of the paper with its verdict here.
	Claim = report.ClaimRow
	// Proportion is how many of some images are misclassified, and Interval a 95 % confidence interval.
	Proportion = stats.Proportion
	Interval   = stats.Interval
	// Paired is McNemar's test of two groups of models on the same images.
	Paired = stats.Paired
)

// Study returns the study of a name.
func Study(name string) experiments.Study { return Must(study.Suite.Study(name)) }

// Experiment returns the experiment of a name, and its study.
func Experiment(name string) (experiments.Study, experiments.Experiment) {
	declared, e, err := study.Suite.Experiment(name)
	Check(err)
	return declared, e
}

// Reports returns a profile's verified records, sorted into what its reports show.
func Reports(profile string) *report.Profile { return Must(report.Load(Results, profile, study.Suite)) }

// Rows returns the rows of a study as recorded at a profile, in the setting that figures show. If there are none, it prints a line
// that says how to train them.
func Rows(profile, name string) []Row {
	reports, named := Reports(profile), Study(name)
	settings := reports.Settings(name)
	if len(settings) == 0 {
		fmt.Printf("profile %s has no records of study %s yet; to train it: bin/ebssc run %[2]s --profile %[1]s\n", profile, name)
		return nil
	}
	return Must(reports.Rows(named, settings[0]))
}

// TrainErr and TestErr are a row's training and test error in percent over its seeds, and TrainLoss is the mean training loss in nats.
func TrainErr(row Row) stats.Sample { return row.Sample(func(r Record) float64 { return r.TrainErr }) }
func TestErr(row Row) stats.Sample  { return row.Sample(func(r Record) float64 { return r.TestErr }) }
func TrainLoss(row Row) float64 {
	return row.Sample(Record.TrainLoss).Mean
}

// OfPaper writes an error of the paper, in percent, and a dash where it has none.
func OfPaper(err float64) string {
	if err == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", err)
}

// Growth says how the differences between hypotheses change from the lowest block to the highest.
func Growth(blocks []Fidelity) string { return report.Growth(blocks) }

// Describe says in one line which network a record is of, and how good it is.
func Describe(r Record) string {
	return fmt.Sprintf("%s on %s, profile %s, %d images, %d epochs: train error %.2f %%, test error %.2f %%, %d parameters",
		r.Run.Experiment, DatasetTitle(r.Run.Dataset.Name), r.Run.Profile, r.Run.TrainImages, r.Run.Epochs,
		r.TrainErr, r.TestErr, r.Parameters)
}

// Claims returns all claims of the paper as judged by a profile's records.
func Claims(profile string) []Claim { return Must(Reports(profile).Claims()) }

// McNemar compares the errors of two groups of models on the same images.
func McNemar(before, after []string, labels string) Paired {
	return Must(stats.McNemar(before, after, labels))
}

// Newcombe is the interval of b's rate minus a's, if both were measured on images of their own.
func Newcombe(a, b Proportion) Interval { return stats.Newcombe(a, b) }
