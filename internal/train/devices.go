package train

import (
	"errors"
	"iter"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/gomlx/core/tensors/dtensor"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// batches returns the run's training batches from a step onwards, split over its devices.
func (s *trainingRun) batches(step int) (train.Dataset, error) {
	all := &epochs{images: s.images.train, run: s.run, from: step}
	if s.runner.Origin.Devices <= 1 {
		return all, nil
	}
	mesh, err := distributed.NewDeviceMesh([]int{s.runner.Origin.Devices}, []string{"batch"})
	if err != nil {
		return nil, err
	}
	split, err := distributed.BuildSpec(mesh).S("batch").Done()
	if err != nil {
		return nil, err
	}
	// GoMLX 0.28.3 makes the generator's state without a link to its store, from which other variables learn that each device
	// holds them: without this it would follow a nil pointer.
	state := s.store.GetVariable(model.RNGStateVariableName)
	return &sharded{epochs: all, split: split}, state.SetShardingSpec(distributed.NewReplicatedShardingSpec(mesh))
}

// sharded splits the batches of epochs: of N devices the first takes the first Nth of a batch's images, and so on. train.Loop then
// has XLA (Shardy) split the training step. The step itself stays as declared: it sees whole batches, and so the same random
// numbers. Each device holds all variables.
type sharded struct {
	*epochs
	split *distributed.ShardingSpec
}

// Strategy leaves it to XLA how computing is split.
func (s *sharded) Strategy() distributed.Strategy { return distributed.AutoSharding }

// DeviceAssignment is nil: the first devices of the backend.
func (s *sharded) DeviceAssignment() []compute.DeviceNum { return nil }

// DistributedIter yields the batches of Iter, split.
func (s *sharded) DistributedIter() iter.Seq2[train.DistributedBatch, error] {
	return func(yield func(train.DistributedBatch, error) bool) {
		for batch, err := range s.Iter() {
			var shards train.DistributedBatch
			if err == nil {
				shards, err = s.shard(batch)
			}
			if !yield(shards, err) {
				return
			}
		}
	}
}

// shard splits a batch, which is freed.
func (s *sharded) shard(batch train.Batch) (train.DistributedBatch, error) {
	images, err := dtensor.ShardTensor(s.split, batch.Inputs[0])
	labels, err2 := dtensor.ShardTensor(s.split, batch.Labels[0])
	return train.DistributedBatch{Inputs: []*dtensor.Tensor{images}, Labels: []*dtensor.Tensor{labels}},
		errors.Join(err, err2, batch.Finalize())
}
