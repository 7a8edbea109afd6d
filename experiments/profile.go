package experiments

import "ebsscgo/ebssc"

// Profile sets the scale of all studies.
type Profile struct {
	// Name on the command line and of the folder in results/.
	Name string
	// About says what the profile is for, in a line.
	About string
	// Demo profiles show that everything works. No verdict on a claim rests on them.
	Demo bool
	// Table, Unroll and Decoding are the scales of the studies that report rows, sweeps and decodings. Ablations is the scale
	// of studies of rows that the paper does not report. Rows that are compared have one scale.
	Table, Unroll, Decoding, Ablations Scale
	// Memory and Disk that all studies take at most, in GiB: peak memory with one run at a time, and disk for all runs.
	// Those of smoke and quick were measured on a CPU. Those of overnight and paper are scaled up from them, not measured.
	Memory, Disk float64
}

// Scale sets the size of a study's runs.
type Scale struct {
	// Width is the number of filters of the first block.
	Width int
	// TrainImages and TestImages limit the images, counted from the first; 0 means all.
	TrainImages, TestImages int
	// Epochs through the training images.
	Epochs int
	// Seeds is the number of runs of each experiment, with seeds 1, 2, ….
	Seeds int
	// VerdictSeeds is the least number of seeds of each row that a verdict on a claim takes. Set it before they are trained: who looks
	// after each seed stops when the verdict suits. (The five of the table at quick were set after three had been seen.) With 1 the
	// deviation between seeds comes from rows that have several.
	VerdictSeeds int
	// Settings that differ from Recipe.
	Settings Settings
}

// Profiles are the profiles, smallest first.
var Profiles = []Profile{
	{
		Name: "smoke", About: "everything end to end in minutes; its numbers mean nothing", Demo: true, Memory: 1, Disk: 0.1,
		Table: Scale{
			Width: 4, TrainImages: 1000, TestImages: 1000, Epochs: 4, Seeds: 1,
			Settings: Settings{ParamBatch: 32, ebssc.ParamDropout: 0.0},
		},
		Unroll: Scale{
			Width: 4, TrainImages: 1000, TestImages: 1000, Epochs: 2, Seeds: 1,
			Settings: Settings{ParamBatch: 50, ebssc.ParamDropout: 0.0},
		},
		Decoding: Scale{
			Width: 4, TrainImages: 200, TestImages: 25, Epochs: 2, Seeds: 1,
			Settings: Settings{ParamBatch: 25, ebssc.ParamDropout: 0.0},
		},
		Ablations: Scale{
			Width: 4, TrainImages: 500, TestImages: 1000, Epochs: 2, Seeds: 1,
			Settings: Settings{ParamBatch: 25, ebssc.ParamDropout: 0.0},
		},
	},
	{
		Name: "quick", About: "real images at reduced width, the table within 30 minutes on 2 CPU cores (--jobs 2)", Memory: 3, Disk: 0.2,
		// Narrow networks in few epochs under-fit: on held-out images dropout only costs.
		Table:     Scale{Width: 16, Epochs: 4, Seeds: 1, VerdictSeeds: 5, Settings: Settings{ParamBatch: 64, ebssc.ParamDropout: 0.0}},
		Unroll:    Scale{Width: 8, Epochs: 6, Seeds: 1, VerdictSeeds: 3, Settings: Settings{ParamBatch: 100, ebssc.ParamDropout: 0.0}},
		Decoding:  Scale{Width: 16, TrainImages: 20_000, Epochs: 2, Seeds: 1, VerdictSeeds: 3, Settings: Settings{ParamBatch: 50, ebssc.ParamDropout: 0.0}},
		Ablations: Scale{Width: 16, TrainImages: 20_000, Epochs: 3, Seeds: 1, VerdictSeeds: 1, Settings: Settings{ParamBatch: 64, ebssc.ParamDropout: 0.0}},
	},
	{
		Name: "overnight", About: "the paper's table at half its width, in a night on 2 CPU cores", Memory: 4, Disk: 0.5,
		Table:     Scale{Width: 48, Epochs: 20, Seeds: 1, VerdictSeeds: 1, Settings: Settings{ParamBatch: 64, ebssc.ParamDropout: 0.0}},
		Unroll:    Scale{Width: 16, Epochs: 12, Seeds: 1, VerdictSeeds: 1, Settings: Settings{ParamBatch: 100, ebssc.ParamDropout: 0.0}},
		Decoding:  Scale{Width: 32, Epochs: 4, Seeds: 1, VerdictSeeds: 1, Settings: Settings{ParamBatch: 50, ebssc.ParamDropout: 0.0}},
		Ablations: Scale{Width: 32, Epochs: 4, Seeds: 1, VerdictSeeds: 1, Settings: Settings{ParamBatch: 64, ebssc.ParamDropout: 0.0}},
	},
	{
		Name: "paper", About: "the paper's width, data and dropout, with our optimizer; takes a GPU", Memory: 24, Disk: 10,
		// The paper does not say how many epochs it trains. 40 epochs of the five rows take 17 minutes at 10,000 images/s.
		Table:     Scale{Width: PaperWidth, Epochs: 40, Seeds: 3, VerdictSeeds: 3},
		Unroll:    Scale{Width: 32, Epochs: 100, Seeds: 3, VerdictSeeds: 3},
		Decoding:  Scale{Width: PaperWidth, Epochs: 20, Seeds: 1, VerdictSeeds: 3},
		Ablations: Scale{Width: PaperWidth, Epochs: 40, Seeds: 1, VerdictSeeds: 1},
	},
}

// Scale returns the profile's scale for a study.
func (p Profile) Scale(study Study) Scale {
	switch {
	case study.Report == Sweeps:
		return p.Unroll
	case study.Report == Decodings:
		return p.Decoding
	case study.Ablation && !study.LikeTable:
		return p.Ablations
	default:
		return p.Table
	}
}

// FindProfile returns the profile of that name.
func FindProfile(name string) (Profile, error) {
	for _, profile := range Profiles {
		if profile.Name == name {
			return profile, nil
		}
	}
	return Profile{}, unknown("profile", name, ProfileNames())
}

// ProfileNames are the names of the profiles, smallest first.
func ProfileNames() (names []string) {
	for _, profile := range Profiles {
		names = append(names, profile.Name)
	}
	return names
}
