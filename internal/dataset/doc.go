// Package dataset finds the images that experiments train and test on, and prepares them.
//
// [Find] returns a data set from a named folder, the cache or the web, with every byte checked: a [Set] of images as bytes,
// with the fingerprint of the files that they come from.
//
// [Fit] fits the preprocessing of the paper (Goodfellow 2013) on the training images, and [Whitening.Apply] applies it:
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
// Every byte of every file decides it. The fingerprints of the official files follow from their published SHA-256. A data
// set is named by its fingerprint, never by its folder: see the Name constants.
package dataset
