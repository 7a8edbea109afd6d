// Package dataset finds the images that experiments train and test on, and prepares them.
//
// [Find] returns a data set from a named folder, or else from the cache or the web, with every byte
// hashed: a [Set] of images as bytes, with the fingerprint of the images and labels. [ReadPictures]
// reads pictures of one's own, and [Pictures] makes a data set of a folder of them.
//
// [Fit] fits the preprocessing of the paper (Goodfellow 2013) on the training images, and
// [Whitening.Apply] applies it: global contrast normalisation, then ZCA whitening.
package dataset
