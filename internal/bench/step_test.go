package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/device"
)

var (
	// cases is where run.sh has what the peers read.
	cases = flag.String("cases", "", "folder in which to write each case for the peers")
	// precision is that of the convolutions.
	precision = flag.String("precision", string(ebssc.Float32), "float32 or bfloat16")
)

// The rows and sizes that are measured: the row with the least work and the one with the most; half
// of the paper's width in the batches of profiles on CPUs, the paper's width in small batches, and
// a quarter in the paper's batches.
var (
	rows  = []string{"crelu-lc7", "ssc-ebc67"}
	sizes = []struct{ batch, width int }{{64, 48}, {32, 96}, {128, 24}}
)

// BenchmarkStep measures a training step and inference of one batch, with Adam.
func BenchmarkStep(b *testing.B) {
	program := "ebssc"
	if ebssc.Precision(*precision) == ebssc.BFloat16 {
		program = "ebssc-bf16"
		require.NoError(b, device.UseBFloat16(b.Context(), ""))
	}
	backend, _, err := device.Open(b.Context(), "")
	require.NoError(b, err)
	defer backend.Finalize()
	for _, row := range rows {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("row=%s/size=%dx%d", row, size.batch, size.width), func(b *testing.B) {
				s := newStepper(b, backend, row, size.batch, size.width)
				defer s.close()
				if *cases != "" {
					name := fmt.Sprintf("row=%s,size=%dx%d", row, size.batch, size.width)
					s.write(b, filepath.Join(*cases, name))
				}
				b.Run("what=inference/program="+program, func(b *testing.B) { s.measure(b, s.infer) })
				b.Run("what=train/program="+program, func(b *testing.B) { s.measure(b, s.train) })
			})
		}
	}
}

// stepper takes steps of a network on one batch.
type stepper struct {
	network        ebssc.Network
	hyper          experiments.Hyper
	backend        compute.Backend
	store          *model.Store
	forward        *model.Exec
	trainer        *train.Trainer
	images, labels *tensors.Tensor // float32 [N, H, W, C], standard normal, and int32 [N, 1]
}

// newStepper makes the network of a row, its batch and its trainer.
func newStepper(b *testing.B, backend compute.Backend, row string, batch, width int) *stepper {
	_, e, err := experiments.Studies.Experiment(row)
	require.NoError(b, err)
	s := &stepper{network: e.Network(width), hyper: experiments.Recipe.Changed(e.Change),
		backend: backend, store: model.NewStore()}
	s.hyper.Precision = ebssc.Precision(*precision)
	s.store.SetParam(model.ParamInitialSeed, int64(1))
	require.NoError(b, s.store.SetRNGStateFromSeed(1))
	graph := func(scope *model.Scope, images *Node) *Node {
		return s.network.Forward(scope, s.hyper.Hyper, images).Scores
	}
	adam := optimizer.Adam().LearningRate(s.hyper.LearningRate).Done()
	s.trainer = train.NewTrainer(backend, s.store, graph, loss.SparseCategoricalCrossEntropyLogits,
		adam, nil, nil)
	s.forward, err = model.NewExec(backend, s.store, graph)
	require.NoError(b, err)

	rng := rand.New(rand.NewPCG(1, 2))
	pixels := make([]float32, batch*s.network.Height*s.network.Width*s.network.Channels)
	for i := range pixels {
		pixels[i] = float32(rng.NormFloat64())
	}
	labels := make([]int32, batch)
	for i := range labels {
		labels[i] = rng.Int32N(int32(s.network.Classes))
	}
	s.images = tensors.FromFlatDataAndDimensions(pixels, batch, s.network.Height, s.network.Width,
		s.network.Channels)
	s.labels = tensors.FromFlatDataAndDimensions(labels, batch, 1)
	return s
}

// measure times steps after two that compile and warm up.
func (s *stepper) measure(b *testing.B, step func(b *testing.B)) {
	step(b)
	step(b)
	for b.Loop() {
		step(b)
	}
	b.ReportMetric(float64(s.images.Shape().Dim(0)*b.N)/b.Elapsed().Seconds(), "images/s")
}

// infer takes a step of inference, which ends when the scores have reached the host.
func (s *stepper) infer(b *testing.B) {
	scores, err := s.forward.Call1(s.images)
	require.NoError(b, err)
	require.Len(b, tensors.MustCopyFlatData[float32](scores),
		s.images.Shape().Dim(0)*s.network.Classes)
	require.NoError(b, scores.FinalizeAll())
}

// train takes a training step, which ends when the loss has reached the host.
func (s *stepper) train(b *testing.B) {
	images, err := s.images.OnDeviceClone(s.backend, 0) // the trainer consumes its batch
	require.NoError(b, err)
	labels, err := s.labels.OnDeviceClone(s.backend, 0)
	require.NoError(b, err)
	batch := train.Batch{Inputs: []*tensors.Tensor{images}, Labels: []*tensors.Tensor{labels}}
	metrics, err := s.trainer.TrainStep(batch)
	require.NoError(b, err)
	require.False(b, math.IsNaN(float64(tensors.ToScalar[float32](metrics[0]))))
	for _, metric := range metrics {
		require.NoError(b, metric.FinalizeAll())
	}
}

// write writes the case for the peers: the network with its hyperparameters, the batch, its class
// scores, and the initial variables.
func (s *stepper) write(b *testing.B, folder string) {
	scores, err := s.forward.Call1(s.images)
	require.NoError(b, err)
	description, err := json.Marshal(map[string]any{"Network": s.network, "Hyper": s.hyper})
	require.NoError(b, err)
	require.NoError(b, os.MkdirAll(folder, 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(folder, "case.json"), description, 0o644))
	require.NoError(b, numpy.ToNpzFile(s.network.Variables(s.store),
		filepath.Join(folder, "variables.npz")))
	batch := map[string]*tensors.Tensor{"images": s.images, "labels": s.labels, "scores": scores}
	require.NoError(b, numpy.ToNpzFile(batch, filepath.Join(folder, "batch.npz")))
}

func (s *stepper) close() {
	s.forward.Finalize()
	s.trainer.ResetComputationGraphs()
	s.store.Finalize()
}
