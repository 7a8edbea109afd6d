package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/safefile"
)

// onPictures lists a person's own pictures, and returns the studies as studies of them.
func onPictures(
	o Options, studies experiments.Suite,
) (listed dataset.Pictures, on experiments.Suite, err error) {
	if listed, err = o.Pictures.List(); err != nil {
		return listed, nil, err
	}
	if inside(o.Results, listed.Folder) {
		return listed, nil, fmt.Errorf("--results %s lies among the pictures of %s: give a folder "+
			"elsewhere", o.Results, listed.Folder)
	}
	images := listed.Images()
	for _, study := range studies {
		on = append(on, study.On(images))
	}
	return listed, on, nil
}

// inside reports whether a path is a folder or lies below it.
func inside(path, folder string) bool {
	below, err := filepath.Rel(safefile.Absolute(folder), safefile.Absolute(path))
	return err == nil && filepath.IsLocal(below)
}

// readPictures reads a person's own pictures.
func readPictures(ctx context.Context, o Options) (*dataset.Set, error) {
	images := o.Pictures.Images()
	fmt.Fprintf(o.Out, "reading %d pictures of %d classes in %s\n", o.Pictures.Len(),
		len(images.Classes), o.Pictures.Folder)
	if images.Height*images.Width*images.Channels > experiments.MaxWhitened {
		fmt.Fprintf(o.Out, "images of %d×%d×%d are not whitened, their contrast is normalised "+
			"alone: --set preprocessing=zca whitens them and takes minutes and gigabytes\n",
			images.Height, images.Width, images.Channels)
	}
	set, err := o.Pictures.Read(ctx, o.Out)
	debug.FreeOSMemory() // what decoding took is not there for runs otherwise
	return set, err
}

// roomFor returns an error if there is no memory for so many runs at a time as there are jobs.
func roomFor(runs []experiments.Run, o Options) error {
	for _, run := range runs {
		needed := run.Memory() * float64(max(1, o.Jobs))
		if device.CheckMemory(run.Experiment, uint64(needed)).Status == device.OK {
			continue
		}
		codes, variables, images := run.MemoryParts()
		return fmt.Errorf("%s with %d classes needs about %.1f GiB of memory, more than is free "+
			"(codes of a batch %.1f, variables %.1f, images %.1f): take a smaller "+
			"--set batch_size=…, --width, --side or --jobs, or fewer classes", run.Experiment,
			run.Network.Classes, needed/device.GiB, codes/device.GiB, variables/device.GiB,
			images/device.GiB)
	}
	return nil
}
