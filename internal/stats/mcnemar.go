package stats

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

// Paired is McNemar's exact test of two groups of models on the same images.
type Paired struct {
	// Fixed are the images on which fewer models err after than before, Broken those on which more do. With one model in
	// each group these are the images that the one gets wrong and the other right, and the reverse.
	Fixed, Broken int
	// P is the probability of a split at least as uneven as this one where each such image falls on either side by chance:
	// the exact two-sided p value of the binomial distribution.
	P float64
}

// McNemar compares the errors of two groups of models on the same images. before and after are the predictions of each
// model, a character an image, as labels are. Both groups must have equally many models (their seeds): with more models it
// is likelier that one of them errs, and images would count for the smaller group by that alone.
func McNemar(before, after []string, labels string) (Paired, error) {
	if len(before) != len(after) || len(before) == 0 {
		return Paired{}, fmt.Errorf("a paired test of %d models against %d: both must be equally many", len(after), len(before))
	}
	errors := make([]int, len(labels)) // of the group before, minus those of the group after
	count := func(models []string, sign int) error {
		for _, predictions := range models {
			if len(predictions) != len(labels) {
				return fmt.Errorf("a paired test: %d predictions of %d images", len(predictions), len(labels))
			}
			for image := range errors {
				if predictions[image] != labels[image] {
					errors[image] += sign
				}
			}
		}
		return nil
	}
	if err := count(before, 1); err != nil {
		return Paired{}, err
	}
	if err := count(after, -1); err != nil {
		return Paired{}, err
	}
	var test Paired
	for _, fewer := range errors {
		switch {
		case fewer > 0:
			test.Fixed++
		case fewer < 0:
			test.Broken++
		}
	}
	test.P = signTest(test.Fixed, test.Broken)
	return test, nil
}

// signTest is the exact two-sided p value of two counts that are equally likely to grow.
func signTest(a, b int) float64 {
	if a == b {
		return 1
	}
	return min(1, 2*distuv.Binomial{N: float64(a + b), P: 0.5}.CDF(float64(min(a, b))))
}
