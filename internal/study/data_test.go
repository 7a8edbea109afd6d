package study

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/record"
)

// A recorded run sees the images that it was trained on: digits that stood in for CIFAR-10 also where CIFAR-10 is now, and no others.
func TestRunnerOfARecordedRun(t *testing.T) {
	folder := datasettest.CIFAR10(t)
	datasettest.MNIST(t, folder, 100)
	s := &Session{Options: Options{Data: folder, Out: io.Discard, Jobs: 1}, origin: func() record.Origin { return record.Origin{} }}
	digits, err := dataset.StandIn(t.Context(), folder, io.Discard)
	require.NoError(t, err)
	stoodIn := s.newRunner(digits).Dataset()

	runner, err := s.RunnerOf(t.Context(), experiments.CIFAR10, stoodIn)
	require.NoError(t, err)
	require.Equal(t, stoodIn, runner.Dataset())
	runner, err = s.RunnerOf(t.Context(), experiments.MNIST, stoodIn)
	require.NoError(t, err)
	require.Equal(t, 32, runner.Set.Train.Height)

	cifar, err := dataset.Find(t.Context(), experiments.CIFAR10, folder, io.Discard)
	require.NoError(t, err)
	recorded := s.newRunner(cifar).Dataset()
	runner, err = s.RunnerOf(t.Context(), experiments.CIFAR10, recorded)
	require.NoError(t, err)
	require.Equal(t, recorded, runner.Dataset())
	recorded.SHA256 = "another"
	_, err = s.RunnerOf(t.Context(), experiments.CIFAR10, recorded)
	require.ErrorContains(t, err, "give the same with --data")
}
