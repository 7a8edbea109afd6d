// Package dataset brings the images that the experiments train and test on, and prepares them.
//
// [CIFAR10] and [MNIST] find a data set, in a folder that is given, in the cache or on the web, and check every byte of
// it. What comes back is a [Set]: the images as bytes, with the fingerprint of the files that they came from.
//
// [Fit] finds the preprocessing of the paper (Goodfellow 2013) on the training images, and [Whitening.Apply] applies it:
// global contrast normalisation, then ZCA whitening.
//
// # Fingerprints and names
//
// The fingerprint of a data set is the SHA-256 of the list that sha256sum prints for its files in their official order,
// unzipped, by their official names:
//
//	sha256sum data_batch_{1,2,3,4,5}.bin test_batch.bin | sha256sum
//	sha256sum {train,t10k}-{images-idx3,labels-idx1}-ubyte | sha256sum
//
// Every byte of every file decides it, and the official files are known by the published SHA-256 of each. A data set is
// named by its fingerprint, never by where it lay: see the Name constants.
package dataset
