// Package dataset finds the images that experiments train and test on, and prepares them.
//
// [Find] returns a data set from a named folder, the cache or the web, with every byte hashed: a [Set] of images as bytes,
// with the fingerprint of the files that they come from.
//
// [Fit] fits the preprocessing of the paper (Goodfellow 2013) on the training images, and [Whitening.Apply] applies it:
// global contrast normalisation, then ZCA whitening.
package dataset
