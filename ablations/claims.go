package ablations

import "ebsscgo/experiments"

// claims of the paper about rows that change one thing.
var claims = []experiments.Claim{
	{
		Name: "beta", Where: "Sec. 4.1",
		Says: "β = 0.001 performs better than 0.01.",
		Reading: "β starts at this value and is learned (the paper does not say whether its two values were fixed); also in a network that is so narrow " +
			"that 0.01 is not above a typical entry of its codes",
		Expect: []experiments.Expectation{
			experiments.Lower(experiments.TestErr, "ssc-lc7-base", "ssc-lc7-beta-0.01"),
			experiments.Lower(experiments.TestErr, "ssc-lc7-narrow", "ssc-lc7-narrow-beta-0.01"),
		},
	},
	{
		Name: "average-pool", Where: "Sec. 4.1, commented out in the source",
		Says:   "Average pooling performs worse than max pooling.",
		Expect: []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7-base", "crelu-avg-lc7"), experiments.Lower(experiments.TestErr, "ssc-lc7-base", "ssc-avg-lc7")},
	},
	{
		Name: "ebc7", Where: "Table 2, commented out in the source",
		Says:    "An energy-based classifier on block 7 alone errs more than the linear classifier.",
		Reading: "the text does not say so; two rows of the table show it",
		Expect:  []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7-base", "crelu-ebc7"), experiments.Lower(experiments.TestErr, "ssc-avg-lc7", "ssc-avg-ebc7")},
	},
	{
		Name: "ebc17", Where: "Sec. 4.1, commented out in the source",
		Says:    "With class-specific codes in all blocks, EBC₁₋₇, the model performs worse than the baseline.",
		Reading: "worse than CReLU+LC₇, and than the linear classifier with the same pooling",
		Expect:  []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7-base", "ssc-avg-ebc17"), experiments.Lower(experiments.TestErr, "ssc-avg-lc7", "ssc-avg-ebc17")},
	},
}
