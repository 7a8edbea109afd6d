// Package bench measures training steps and inference of the table's networks, in this program and,
// by run.sh, in PyTorch and JAX.
//
// All programs compute the same network from the same initial variables on the same batch; each
// peer checks that its class scores agree. A training step is the forward pass with dropout, the
// loss, its gradients, Adam and the projection of thresholds, without augmentation.
//
//	# this program alone
//	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 go test ./internal/bench -run '^$' -bench Step
//	# beside its peers, in turns
//	internal/bench/run.sh
package bench
