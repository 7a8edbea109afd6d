package train

import (
	"iter"
	"math/rand"
	randv2 "math/rand/v2"

	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/train"

	"ebsscgo/experiments"
)

// batches returns the run's training batches from the present step onwards. Of N devices the first takes the first Nth of a batch's images, and so
// on. XLA (Shardy) splits the training step. The step itself stays as declared: it sees whole batches, and so the same random numbers. Each device
// holds all variables.
func (s *trainingRun) batches() (train.Dataset, error) {
	devices := max(1, s.runner.Origin.Devices)
	parts := &epochs{images: s.train.InMemoryDataset, run: s.run, from: s.step(), parts: devices}
	if devices == 1 {
		return parts, nil
	}
	mesh, err := distributed.NewDeviceMesh([]int{devices}, []string{"batch"})
	if err != nil {
		return nil, err
	}
	split, err := distributed.BuildSpec(mesh).S("batch").Done()
	if err != nil {
		return nil, err
	}
	specs := []*distributed.ShardingSpec{split}
	return dataset.NewDistributedAccumulator(s.runner.Backend, parts, distributed.AutoSharding, specs, specs, nil)
}

// epochs are the training batches from a step onwards, without end, each in equal parts. The order of the images depends on the run's seed
// and the epoch alone, so a run that goes on sees what it would have seen.
type epochs struct {
	images      *dataset.InMemoryDataset
	run         experiments.Run
	from, parts int
}

// Name of the data set.
func (e *epochs) Name() string { return "training" }

// Iter yields parts of batches: images [B/parts, H, W, C] and labels [B/parts, 1].
func (e *epochs) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		steps := e.run.StepsPerEpoch()
		skip := e.from % steps * e.parts
		for epoch := e.from / steps; ; epoch++ {
			order := rand.New(&stream{*randv2.NewPCG(uint64(e.run.Stream(experiments.Order, epoch)), 0)})
			images := e.images.Copy().WithRand(order).Shuffle().BatchSize(e.run.Hyper.Batch/e.parts, true).TakeN(steps * e.parts)
			for part, err := range images.Iter() {
				if skip > 0 && err == nil {
					skip--
					if err = part.Finalize(); err == nil {
						continue
					}
				}
				if !yield(part, err) {
					return
				}
			}
		}
	}
}

// stream makes a generator of math/rand/v2 a source of math/rand, which GoMLX takes. (That package's own source knows 2³¹ seeds alone.)
type stream struct{ randv2.PCG }

// Int63 is a random number of 63 bits.
func (s *stream) Int63() int64 { return int64(s.Uint64() >> 1) }

// Seed is part of the interface; nobody calls it.
func (s *stream) Seed(seed int64) { s.PCG.Seed(uint64(seed), 0) }
