package train_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/stats"
	"ebsscgo/internal/train"
)

// BenchmarkEpoch compares whole epochs of training (batches taken from the data set in a new order, augmentation, metrics,
// the curve and a checkpoint) with as many training steps on one batch, and evaluation of a data set with inference on
// one batch: on made images at width 16, medians over all iterations.
//
//	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 go test ./internal/train -run '^$' -bench Epoch -benchtime 3x
func BenchmarkEpoch(b *testing.B) {
	for _, name := range []string{"crelu-lc7", "unroll-1"} {
		b.Run(name, func(b *testing.B) {
			_, e, err := experiments.Studies.Experiment(name)
			require.NoError(b, err)
			run, set := noiseRun(b, e)
			log := &lineTimes{}
			runner := &train.Runner{Backend: xla, Set: set, Log: log}
			var epochs, steps, evaluations, inferences []float64
			for b.Loop() {
				log.seconds = nil
				_, err := runner.Train(b.Context(), run, b.TempDir(), nil)
				require.NoError(b, err)
				epochs = append(epochs, log.seconds[1:]...) // the first line stands behind compiling
				steps = append(steps, floats.Sum(train.TimeSteps(b, runner, run)))
				evaluated, inferred := train.TimeEvaluations(b, runner, run)
				evaluations, inferences = append(evaluations, evaluated...), append(inferences, inferred...)
			}
			epoch, step := stats.Median(epochs), stats.Median(steps) // of an epoch's steps each
			b.ReportMetric(epoch, "s/epoch")
			b.ReportMetric(1e3*step/float64(run.StepsPerEpoch()), "ms/step")
			b.ReportMetric(epoch/step, "epoch/steps")
			evaluated, inferred := float64(run.TestImages)/stats.Median(evaluations), train.EvaluationBatch/stats.Median(inferences)
			b.ReportMetric(evaluated, "evaluated/s")
			b.ReportMetric(inferred, "inferred/s")
			b.ReportMetric(evaluated/inferred, "evaluated/inferred")
		})
	}
}

// noiseRun is four epochs of an experiment on noise, which is as fast to compute with as images are.
func noiseRun(b *testing.B, e experiments.Experiment) (experiments.Run, *dataset.Set) {
	const width = 16
	set := noise(e.Network(width), 3200, 2000)
	scale := experiments.Scale{Width: width, Epochs: 4, Seeds: 1, Settings: experiments.Settings{experiments.ParamBatch: 64, ebssc.ParamDropout: 0.0}}
	runs, err := experiments.Plan(e, "bench", scale, describe(set), onOne, experiments.Overrides{Settings: experiments.Settings{experiments.ParamWhiten: false}})
	require.NoError(b, err)
	runs[0].Traced = false // an epoch is its steps
	return runs[0], set
}

// noise is a data set for a network, of noise.
func noise(network ebssc.Network, trainImages, testImages int) *dataset.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(count int) dataset.Images {
		images := dataset.Images{Height: network.Height, Width: network.Width, Channels: network.Channels}
		images.Pixels = make([]uint8, count*network.Height*network.Width*network.Channels)
		for i := range images.Pixels {
			images.Pixels[i] = uint8(rng.IntN(256))
		}
		for range count {
			images.Labels = append(images.Labels, uint8(rng.IntN(network.Classes)))
		}
		return images
	}
	return &dataset.Set{Name: "noise", SHA256: "noise", Train: draw(trainImages), Test: draw(testImages)}
}

// lineTimes is a log that notes the seconds before each line.
type lineTimes struct {
	last    time.Time
	seconds []float64
}

func (l *lineTimes) Write(text []byte) (int, error) {
	l.seconds = append(l.seconds, time.Since(l.last).Seconds())
	l.last = time.Now()
	return len(text), nil
}

// BenchmarkMuon compares training steps with Muon and with Adam, on made images, medians over all iterations.
//
//	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 go test ./internal/train -run '^$' -bench Muon -benchtime 3x
func BenchmarkMuon(b *testing.B) {
	for _, of := range []struct {
		row   experiments.Experiment
		width int
	}{{experiments.Table[1], 16}, {experiments.Table[1], 48}, {experiments.Table[4], 16}, {experiments.Table[4], 48}} {
		b.Run(fmt.Sprintf("%s/width=%d", of.row.Name, of.width), func(b *testing.B) {
			run, set := noiseRun(b, of.row)
			run.Network = of.row.Network(of.width)
			run.TrainImages = 20 * run.Batch()
			runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
			seconds := map[any][]float64{}
			for b.Loop() {
				for _, optimizer := range []any{experiments.Adam, experiments.Muon} {
					run.Settings = run.Settings.With(experiments.Settings{experiments.ParamOptimizer: optimizer})
					seconds[optimizer] = append(seconds[optimizer], train.TimeSteps(b, runner, run)...)
				}
			}
			adam, muon := stats.Median(seconds[experiments.Adam]), stats.Median(seconds[experiments.Muon])
			b.ReportMetric(1e3*adam, "adam-ms/step")
			b.ReportMetric(1e3*muon, "muon-ms/step")
			b.ReportMetric(muon/adam, "muon/adam")
			b.ReportMetric(1e3*slices.Min(seconds[experiments.Adam]), "adam-fastest-ms")
			b.ReportMetric(1e3*slices.Min(seconds[experiments.Muon]), "muon-fastest-ms")
		})
	}
}
