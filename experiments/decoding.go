package experiments

import "ebsscgo/ebssc"

// Decoding is the network behind the paper's Fig. 4: class thresholds in all seven blocks (10.1M parameters at the paper's
// width), so that there is a class bias to decode at every level. The paper's source has it, with average pools, among
// the rows commented out of its Table 2.
//
// All codes depend on the hypothesis, so everything above the first block is computed ten times: the dictionary's product
// with the image is the only one that the hypotheses share. Beside SSC+EBC₆₋₇ at width 16 and batches of 50, a training
// step took eight times as long (0.61 to 0.75 s in place of 0.08 on two cores) and twice the memory (1.5 GiB in place of 0.7).
var Decoding = []Experiment{{
	Name: "ssc-ebc17", Title: "SSC+EBC₁₋₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 1},
}}

// Residuals is the network behind the paper's Fig. 5: the same for MNIST. Digits are not mirrored, nor moved, and not whitened:
// the model sees them as they are.
var Residuals = []Experiment{{
	Name: "ssc-ebc17-mnist", Title: "SSC+EBC₁₋₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 1, Images: MNIST},
	Settings: Settings{ParamFlip: 0.0, ParamCrop: 0, ParamWhiten: false},
}}
