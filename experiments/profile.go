package experiments

import (
	"fmt"

	"ebsscgo/ebssc"
)

// Profile is a scale at which experiments run.
type Profile struct {
	// Name on the command line and of the folder in results/.
	Name string
	// About says what the profile is for, in a line.
	About string
	// Width is the number of filters of the first two blocks (PaperWidth in the paper).
	Width int
	// TrainImages and TestImages are how many images are used, from the first; 0 means all.
	TrainImages, TestImages int
	// Epochs through the training images.
	Epochs int
	// Seeds is how many times a row is trained.
	Seeds int
	// Settings that differ from Recipe.
	Settings Settings
}

// Profiles are the scales, smallest first.
var Profiles = []Profile{
	{
		Name: "smoke", About: "everything end to end in minutes; its numbers mean nothing",
		Width: 6, TrainImages: 2000, TestImages: 1000, Epochs: 6, Seeds: 1,
		Settings: Settings{ParamBatch: 32, ebssc.ParamDropout: 0.0},
	},
	{
		Name: "quick", About: "real images at reduced width, the whole table within 30 minutes on 2 CPU cores",
		Width: 16, Epochs: 4, Seeds: 1,
		// Narrow networks in few epochs under-fit: on held-out images dropout only costs (results/quick/heldout.csv).
		Settings: Settings{ParamBatch: 64, ebssc.ParamDropout: 0.0},
	},
	{
		Name: "paper", About: "the paper's width, data and settings; takes a GPU",
		Width: PaperWidth, Epochs: 200, Seeds: 3,
	},
}

// FindProfile returns the profile of that name.
func FindProfile(name string) (Profile, error) {
	for _, profile := range Profiles {
		if profile.Name == name {
			return profile, nil
		}
	}
	return Profile{}, fmt.Errorf("unknown profile %q: choose from smoke, quick, paper", name)
}
