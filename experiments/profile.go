package experiments

// Profile is a named scale of the studies.
type Profile struct {
	// Name on the command line and of the folder in results/; About says what the profile is for, in a
	// line.
	Name, About string
	// Demo profiles show that everything works. No verdict on a claim rests on them.
	Demo bool
	// Scales has the size of each study's runs, by the study's name. The profile has no other studies.
	Scales map[string]Scale
	// Memory that a run takes at most, in GiB.
	Memory float64
}

// Scale sets the size of a study's runs.
type Scale struct {
	// Width is the number of filters of the first block.
	Width int
	// TrainImages and TestImages limit the images, counted from the first; 0 means all.
	TrainImages, TestImages int
	// Epochs through the training images.
	Epochs int
	// Seeds is the number of runs of each experiment, with seeds 1, 2, …. With fewer no claim gets a
	// verdict.
	Seeds int
	// Change makes the recipe's hyperparameters those of the scale; nil for none. An experiment's own
	// Change follows it.
	Change func(*Hyper)
}

// PaperWidth is the number of filters of the paper's first two blocks; the others have twice as
// many.
const PaperWidth = 96

// noDropout returns the change for short trainings, in batches of so many images: networks that
// under-fit lose by dropout.
func noDropout(batch int) func(*Hyper) {
	return func(h *Hyper) { h.Batch, h.Dropout = batch, 0 }
}

// Scales of profile smoke: of the table's rows, of sweeps on digits, and of decoded networks.
var (
	smokeRows = Scale{Width: 4, TrainImages: 1000, TestImages: 50, Epochs: 4, Seeds: 1,
		Change: noDropout(32)}
	smokeSweeps = Scale{Width: 4, TrainImages: 1000, TestImages: 1000, Epochs: 2, Seeds: 1,
		Change: noDropout(50)}
	smokeDecoded = Scale{Width: 4, TrainImages: 200, TestImages: 25, Epochs: 2, Seeds: 1,
		Change: noDropout(25)}
)

// Profiles are the profiles, smallest first.
var Profiles = []Profile{
	{
		Name: "smoke", About: "everything end to end in minutes; its numbers mean nothing",
		Demo: true, Memory: 1,
		Scales: map[string]Scale{
			"table": smokeRows, "optimizer": smokeRows, "fashion": smokeRows,
			"unroll": smokeSweeps, "unroll-both": smokeSweeps, "unroll-chosen": smokeSweeps,
			"unroll-conv": smokeSweeps,
			"decoding":    smokeDecoded, "residuals": smokeDecoded,
			"ablations": {Width: 4, TrainImages: 500, TestImages: 50, Epochs: 2, Seeds: 1,
				Change: noDropout(25)},
			"fit": {Width: 4, TrainImages: 500, TestImages: 50, Epochs: 4, Seeds: 1,
				Change: noDropout(25)},
			"width": {Width: 4, TrainImages: 500, TestImages: 50, Epochs: 1, Seeds: 1,
				Change: noDropout(25)},
			"unroll-budget": {Width: 4, TrainImages: 1000, TestImages: 1000, Epochs: 1, Seeds: 1,
				Change: noDropout(50)},
		},
	},
	{
		Name: "quick", About: "real images at a sixth of the paper's width, in few epochs", Memory: 3,
		Scales: map[string]Scale{
			"table":         {Width: 16, Epochs: 4, Seeds: 5, Change: noDropout(64)},
			"unroll":        {Width: 8, Epochs: 20, Seeds: 3, Change: noDropout(100)},
			"unroll-both":   {Width: 8, Epochs: 20, Seeds: 3, Change: noDropout(100)},
			"unroll-chosen": {Width: 8, Epochs: 6, Seeds: 3, Change: noDropout(100)},
			"decoding":      {Width: 16, TrainImages: 20_000, Epochs: 2, Seeds: 3, Change: noDropout(50)},
			"residuals":     {Width: 16, TrainImages: 20_000, Epochs: 2, Seeds: 3, Change: noDropout(50)},
			"ablations":     {Width: 16, TrainImages: 20_000, Epochs: 3, Seeds: 3, Change: noDropout(64)},
			"optimizer":     {Width: 16, Epochs: 4, Seeds: 3, Change: noDropout(64)},
			"fit":           {Width: 16, Epochs: 4, Seeds: 5, Change: noDropout(64)},
			"width":         {Width: 16, Epochs: 1, Seeds: 5, Change: noDropout(64)},
			"unroll-budget": {Width: 8, Epochs: 6, Seeds: 3, Change: noDropout(100)},
			"unroll-conv":   {Width: 8, Epochs: 12, Seeds: 3, Change: noDropout(100)},
			"fashion":       {Width: 16, Epochs: 4, Seeds: 5, Change: noDropout(64)},
		},
	},
	{
		Name: "weekend", Memory: 9, // 6 for rows of the table
		About: "the paper's table at the paper's width, in some 30 hours of 2 CPU cores",
		Scales: map[string]Scale{
			"table": {Width: PaperWidth, Epochs: 12, Seeds: 3, Change: noDropout(64)},
			// No epochs: what the decodings of such a network show before it has learned anything.
			"decoding": {Width: PaperWidth, TrainImages: 5000, Epochs: 0, Seeds: 1, Change: noDropout(50)},
		},
	},
	{
		Name: "paper", Memory: 24,
		About: "the paper's width, data and dropout, with our optimizer; takes a GPU",
		// The paper does not say how many epochs it trains.
		Scales: map[string]Scale{
			"table":       {Width: PaperWidth, Epochs: 40, Seeds: 3},
			"unroll":      {Width: 32, Epochs: 100, Seeds: 3},
			"unroll-both": {Width: 32, Epochs: 100, Seeds: 3},
			"decoding":    {Width: PaperWidth, Epochs: 20, Seeds: 3},
			"residuals":   {Width: PaperWidth, Epochs: 20, Seeds: 3},
			"ablations":   {Width: PaperWidth, Epochs: 40, Seeds: 3},
			"optimizer":   {Width: PaperWidth, Epochs: 40, Seeds: 3},
		},
	},
}

// FindProfile returns the profile of that name.
func FindProfile(name string) (Profile, error) {
	return find("profile", name, Profiles, func(p Profile) string { return p.Name })
}
