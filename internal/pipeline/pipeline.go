// Package pipeline goes from declarations to results: plan runs, train them, decode the trained
// networks, report. The command line and the notebooks both use it.
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"
	"golang.org/x/sync/errgroup"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/train"
)

// Options say what is trained, on what, and where results go.
type Options struct {
	// Profile by its name. Overrides change it: such runs are trials.
	Profile string
	experiments.Overrides
	// Data is a folder with data sets, or empty for $EBSSC_DATA, the cache, or a download. Results is
	// the folder of all results.
	Data, Results string
	// Pictures of a person's own, which take the place of the data set of each study.
	Pictures dataset.Pictures
	// Backend is cpu, cuda, go or a GoMLX configuration; empty for the best available one.
	Backend string
	// Jobs is the number of runs that train at a time, on a CPU each on an equal share of the cores;
	// 0 for as many as cores and memory allow, of a demo profile one. The zero Shard stands for all
	// runs.
	Jobs  int
	Shard Shard
	// Out takes messages, a line a call, from several runs at a time; Terminal says that it is a
	// terminal. OnProgress is that of [train.Runner].
	Out        io.Writer
	Terminal   bool
	OnProgress func(run experiments.Run, curve []record.Epoch, pace string)
	// BFloat16 lets the CPU's fast instructions for this precision compute. [Run] sets it where a
	// run has the precision.
	BFloat16 bool

	memory float64 // bytes that a run takes at most
}

// Shard is part Number of Count parts of all runs, for one task of an array job. Run i, counted
// from 0, belongs to part i mod Count + 1.
type Shard struct{ Number, Count int }

// Set reads "3/10".
func (s *Shard) Set(text string) error {
	_, err := fmt.Sscanf(text+"\n", "%d/%d\n", &s.Number, &s.Count)
	if err != nil || s.Number < 1 || s.Number > s.Count {
		return errors.New("give the shard and the number of shards, such as 3/10")
	}
	return nil
}

// Session trains on data sets with a backend, until its owner closes it.
type Session struct {
	Options
	// Backend that computes, and Choice, how it was chosen.
	Backend compute.Backend
	Choice  device.Choice
	// Runners on the images of each kind that the session was started with.
	Runners map[experiments.DataKind]*train.Runner
}

// Close frees the backend and what it has compiled.
func (s *Session) Close() {
	for _, runner := range s.Runners {
		runner.Kept.Close()
	}
	s.Backend.Finalize()
}

// finder finds the data set of a kind.
type finder func(context.Context, experiments.DataKind, string, io.Writer) (*dataset.Set, error)

// Start finds data sets and starts the backend. It looks at what is here first, so that a mistake
// in a named folder is seen before anything is downloaded. For the rest it calls find, which is
// [dataset.Find] or [dataset.FindOrStandIn].
func Start(
	ctx context.Context, o Options, find finder, images ...experiments.DataKind,
) (s *Session, err error) {
	sets := map[experiments.DataKind]*dataset.Set{} // nil for what is not here
	for _, kind := range images {
		sets[kind] = nil
		if o.Pictures.Folder == "" {
			if sets[kind], err = dataset.Local(kind, o.Data); err != nil {
				return nil, err
			}
		}
	}
	if o.BFloat16 {
		err = device.UseBFloat16(ctx, o.Backend)
	} else {
		err = device.CheckFloat32()
	}
	if err != nil {
		return nil, err
	}
	s = &Session{Options: o, Runners: map[experiments.DataKind]*train.Runner{}}
	if s.Backend, s.Choice, err = device.Open(ctx, o.Backend); err != nil {
		return nil, err
	}
	if s.Choice.Warning != "" {
		fmt.Fprintln(o.Out, "warning: "+s.Choice.Warning)
	}
	origin := train.OriginOf(s.Choice)
	for kind, set := range sets {
		if set == nil {
			set, err = find(ctx, kind, o.Data, o.Out)
		}
		if err != nil {
			s.Backend.Finalize()
			return nil, err
		}
		s.Runners[kind] = &train.Runner{Backend: s.Backend, Set: set, Origin: origin,
			Checkpoints: filepath.Join(s.folder(set), train.Checkpoints),
			Log:         o.Out, OnProgress: o.OnProgress, Kept: &train.Kept{}}
	}
	return s, nil
}

// folder returns the folder of results on a data set.
func (s *Session) folder(set *dataset.Set) string {
	return filepath.Join(s.Results, dataset.Folder(s.Profile, set.Name))
}

// Run trains the runs of studies that are not recorded yet, decodes where an experiment asks for
// it, and returns the reports that it wrote, by their folders. A shard writes records alone.
// diverged names runs that diverged; the others were trained all the same.
//
// Run sees mistakes in options and damaged records before it downloads anything, and images other
// than those of the folder's records before it trains.
func Run(
	ctx context.Context, o Options, studies experiments.Suite,
) (reports map[string]*report.Results, diverged, err error) {
	before, err := report.LoadAll(o.Results, o.Profile)
	if err != nil {
		return nil, nil, err
	}
	profile, err := experiments.FindProfile(o.Profile)
	if err != nil {
		return nil, nil, err
	}
	own := o.Pictures.Folder != ""
	var expected experiments.Dataset
	if own {
		if o.Pictures, studies, err = onPictures(o, studies); err != nil {
			return nil, nil, err
		}
		expected = o.Pictures.Expected()
	}
	images, err := o.expect(profile, studies, expected)
	if err != nil {
		return nil, nil, err
	}
	find := dataset.FindOrStandIn
	if o.Shard.Count > 0 {
		find = dataset.Find // all shards must train on the same data
	}
	if own {
		if err := device.Check(ctx, o.Backend, o.BFloat16); err != nil {
			return nil, nil, err // before pictures are read, which may take minutes
		}
		set, err := readPictures(ctx, o)
		if err == nil {
			_, err = o.expect(profile, studies, set.Dataset()) // now that it is known
		}
		if err != nil {
			return nil, nil, err
		}
		find = func(context.Context, experiments.DataKind, string, io.Writer) (*dataset.Set, error) {
			return set, nil // for every kind of images
		}
	}
	if err := os.MkdirAll(o.Results, 0o755); err != nil {
		return nil, nil, fmt.Errorf("a folder for results: %w; give another one with --results", err)
	}
	s, err := Start(ctx, o, find, images...)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	recorded, folders := map[string]record.Record{}, map[string]experiments.Profile{}
	for kind, runner := range s.Runners {
		folders[filepath.Base(s.folder(runner.Set))] = profile
		of, err := s.recorded(before, kind)
		if err != nil {
			return nil, nil, err
		}
		maps.Copy(recorded, of)
	}
	if s.Jobs == 0 {
		s.Jobs = s.fitting(profile)
	}
	runs, missing, err := s.plan(profile, studies, recorded)
	if err == nil {
		diverged, err = s.train(ctx, runs, missing)
	}
	if err == nil && s.Shard.Count == 0 {
		reports, err = report.WriteAll(ctx, s.Results, folders)
	}
	return reports, diverged, err
}

// recorded returns the records of the folder, among these, that results on a kind of images go to.
// That it has runs on other images of the same name is an error: on mnist-unknown, or on pictures
// with another --side.
func (s *Session) recorded(
	all []*report.Results, kind experiments.DataKind,
) (map[string]record.Record, error) {
	here := s.Runners[kind].Set
	for _, p := range all {
		if p.Folder != s.folder(here) {
			continue
		}
		if set, ok := p.Datasets[kind]; ok && set != here.Dataset() {
			return nil, fmt.Errorf("%s has runs on other images, %s of SHA-256 %.12s, and these have "+
				"%.12s: give another folder with --results", p.Folder, set.Name, set.SHA256, here.SHA256)
		}
		return p.Records, nil
	}
	return nil, nil
}

// fitting returns how many runs train best at a time. On a CPU XLA has four threads a run, but two
// runs on two cores train more images a second than one. Runs of a demo profile mostly compile,
// which takes all cores: two at a time took half as long again. So they train one at a time, as do
// those on a GPU.
func (s *Session) fitting(profile experiments.Profile) int {
	if profile.Demo || s.Choice.CUDA() {
		return 1
	}
	jobs := min(device.Cores(), max(2, device.Cores()/4))
	for jobs > 1 && device.CheckMemory("", uint64(float64(jobs)*s.memory)).Status != device.OK {
		jobs--
	}
	return jobs
}

// expect plans the studies on the data sets that they should find, or on own pictures, checks the
// runs, and returns the kinds of images. It sets memory, and BFloat16 if the runs have that
// precision, which has to be that of all.
func (o *Options) expect(
	profile experiments.Profile, studies experiments.Suite, pictures experiments.Dataset,
) (images []experiments.DataKind, err error) {
	own := o.Pictures.Folder != ""
	o.memory = profile.Memory * device.GiB
	precisions := map[bool]bool{}
	for _, study := range studies {
		if !slices.Contains(images, study.Images) {
			images = append(images, study.Images)
		}
		set := study.Images.Declared()
		if own {
			set = pictures
		}
		runs, err := experiments.Plan(study, profile, set, o.Overrides)
		if err == nil && own {
			err = roomFor(runs, *o)
		}
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if own {
				o.memory = max(o.memory, run.Memory())
			}
			o.BFloat16 = run.Hyper.Precision == ebssc.BFloat16
			precisions[o.BFloat16] = true
		}
	}
	if len(precisions) > 1 {
		return nil, errors.New("some runs are in bfloat16, others in float32: train them apart, " +
			"each in a process (in a notebook, a cell) of its own")
	}
	slices.Sort(images)
	return images, nil
}

// task is a planned run with its study, whether it was recorded before, and its place among all. A
// notebook may pass a study that is not in the catalogue.
type task struct {
	study experiments.Study
	experiments.Run
	recorded bool
	place    train.Place
}

// fewSteps is a third of what the table takes at profile quick. With fewer, networks for a person's
// own pictures have hardly begun to learn.
const fewSteps = 1000

// plan returns the runs that belong to the shard, of which missing have no record yet. It says what
// each study is run on.
func (s *Session) plan(
	profile experiments.Profile, studies experiments.Suite, recorded map[string]record.Record,
) (planned []task, missing int, err error) {
	index, left := 0, int64(0) // left is the work of the runs without a record
	work := func(run experiments.Run) int64 { return max(1, int64(run.Work())) }
	for _, study := range studies {
		runner, first, before := s.Runners[study.Images], len(planned), missing
		runs, err := experiments.Plan(study, profile, runner.Set.Dataset(), s.Overrides)
		if err != nil {
			return nil, 0, err
		}
		for _, run := range runs {
			if s.Shard.Count == 0 || index%s.Shard.Count == s.Shard.Number-1 {
				_, ok := recorded[run.ID()]
				planned = append(planned, task{study: study, Run: run, recorded: ok})
				if !ok {
					missing, left = missing+1, left+work(run)
				}
			}
			index++
		}
		// All rows of a seed, then those of the next: whenever it is stopped, rows have the same
		// seeds. Of several jobs the longest first: they end at about the same time.
		slices.SortStableFunc(planned[first:], func(a, b task) int {
			if a.Seed != b.Seed || s.Jobs == 1 {
				return cmp.Compare(a.Seed, b.Seed)
			}
			return cmp.Compare(work(b.Run), work(a.Run))
		})
		images, count := dataset.Title(runner.Set.Name), len(planned)-first
		if experiments.NamedImages(runner.Set.Name).StandsIn {
			images += " as a stand-in for " + string(study.Images)
		}
		fmt.Fprintf(s.Out, "%s: profile %s, by %s (%s)\n%[1]s: on %[5]s\n%[1]s: %[6]d of %d runs are "+
			"recorded and not trained again\n", study.Name, s.Profile, s.Choice.Name,
			s.Choice.Why, images, count-(missing-before), count)
		run := runs[0]
		if experiments.Own(runner.Set.Name) && run.Epochs > 0 && run.Steps() < fewSteps {
			fmt.Fprintf(s.Out, "%s: %d training images in %d epochs are %d steps, few to learn from: "+
				"--epochs %d trains longer\n", study.Name, run.TrainImages, run.Epochs, run.Steps(),
				2*fewSteps/run.StepsPerEpoch())
		}
	}
	for i, run := range planned {
		follows := func(like func(later experiments.Run) bool) bool {
			return slices.ContainsFunc(planned[i+1:], func(later task) bool {
				return !later.recorded && like(later.Run)
			})
		}
		planned[i].place = train.Place{
			Name: fmt.Sprintf("%d/%d %s seed %d", i+1, len(planned),
				catalogue.All.Title(run.Experiment), run.Seed),
			RemainingWork: max(0, float64(left)/float64(work(run.Run))/float64(s.Jobs)-1),
			SeedsFollow: follows(func(later experiments.Run) bool {
				return later.Experiment == run.Experiment
			}),
			ImagesFollow: follows(func(later experiments.Run) bool {
				return train.SameImages(later, run.Run)
			}),
		}
		if !run.recorded {
			left -= work(run.Run)
		}
	}
	return planned, missing, nil
}

// train executes runs, several at a time if asked for. One that diverges does not stop the others.
func (s *Session) train(ctx context.Context, runs []task, missing int) (diverging, err error) {
	count := min(s.Jobs, max(1, missing)) // one run left gets all cores
	for _, runner := range s.Runners {
		runner.Terminal = s.Terminal && count == 1
	}
	var next atomic.Int64
	divergedRuns, failed := make([]error, count), make([]error, count) // by job
	jobs, running := errgroup.WithContext(ctx)
	for job := range count {
		jobs.Go(func() (err error) {
			defer func() { failed[job] = err }()
			session, err := s.job(running, job, count)
			if err != nil {
				return err
			}
			if session != s {
				defer session.Close()
			}
			for i := next.Add(1); i <= int64(len(runs)); i = next.Add(1) {
				if running.Err() != nil {
					return context.Cause(running)
				}
				var diverged train.Diverged
				switch err := session.trainOne(running, runs[i-1]); {
				case errors.As(err, &diverged):
					fmt.Fprintf(s.Out, "%s; going on with the other runs\n", diverged)
					// Without what GoMLX's loop says around it.
					divergedRuns[job] = errors.Join(divergedRuns[job], diverged)
				case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
					return fmt.Errorf("%w; make room, then run it again: it goes on from its last "+
						"checkpoint", err)
				case err != nil:
					return err
				}
			}
			return nil
		})
	}
	first := jobs.Wait()
	for i, err := range failed {
		if errors.Is(err, first) { // the others end with the first one's, unless they fail, too
			failed[i] = nil
		}
	}
	return errors.Join(divergedRuns...), errors.Join(append(failed, first)...)
}

// job returns the session of one of several jobs. On the CPU each has a backend of its own, on its
// share of the cores: runs side by side train more images a second than one on all cores.
func (s *Session) job(ctx context.Context, job, jobs int) (*Session, error) {
	if jobs == 1 || s.Choice.CUDA() {
		return s, nil
	}
	cores, err := device.PinThread(job, jobs)
	if err != nil {
		return nil, err
	}
	session := &Session{Options: s.Options, Choice: s.Choice,
		Runners: map[experiments.DataKind]*train.Runner{}}
	session.Backend, _, err = device.Open(ctx, s.Choice.Config)
	for kind, r := range s.Runners {
		jobRunner := *r
		jobRunner.Backend, jobRunner.Origin.Cores = session.Backend, cores
		jobRunner.Kept = &train.Kept{}
		session.Runners[kind] = &jobRunner
	}
	return session, err
}

// trainOne trains a run, unless it is recorded, and writes its network, figures, whitening and
// record.
func (s *Session) trainOne(ctx context.Context, run task) error {
	runner, id := s.Runners[run.study.Images], run.ID()
	folder := s.folder(runner.Set)
	records := filepath.Join(folder, record.Folder)
	needed := []string{runner.Checkpoints, records, filepath.Join(folder, record.FiguresFolder),
		filepath.Join(folder, record.NetworksFolder)}
	for _, folder := range needed {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("a folder for results: %w; give another one with --results", err)
		}
	}
	// The lock keeps other processes out until this one ends, however it ends.
	locked := filepath.Join(runner.Checkpoints, id+".lock")
	lock, held, err := safefile.TryLock(locked)
	if err != nil {
		return fmt.Errorf("locking a run: %w; remove it, or give another folder with --results", err)
	}
	defer lock.Close()
	_, loadErr := record.Load(record.Path(records, id))
	switch {
	case !held && loadErr == nil: // recorded by another process, which is tidying up
		return nil
	case !held:
		return fmt.Errorf("another process is training %s: wait for it, or give another folder with "+
			"--results", id)
	}
	for _, folder := range needed {
		if err := safefile.RemoveUnfinished(folder, id); err != nil {
			return err
		}
	}
	err = loadErr
	if errors.Is(loadErr, fs.ErrNotExist) {
		err = s.trainAndRecord(ctx, run)
	}
	if err != nil {
		return err
	}
	if err := train.RemoveCheckpoints(runner.Checkpoints, id); err != nil {
		return err
	}
	return os.RemoveAll(locked) // last: who makes another one finds the record
}

// trainAndRecord trains a run, whose lock is held, and writes its network, figures, whitening and
// record.
func (s *Session) trainAndRecord(ctx context.Context, run task) error {
	runner, id := s.Runners[run.study.Images], run.ID()
	folder, name := s.folder(runner.Set), run.place.Name
	training, store, err := runner.Train(ctx, run.Run, run.place)
	if err != nil {
		return err
	}
	defer store.Finalize()
	r := record.Record{Run: run.Run, Overrides: s.Overrides, Training: training,
		Command: fmt.Sprintf("ebssc run %s --only %s --profile %s%s",
			run.study.Name, run.Experiment, s.Profile, s.Overrides.Flags())}
	if s.Pictures.Folder != "" {
		r.Command += s.Pictures.Flags()
		r.Classes = runner.Set.Classes
		// Another process may have begun with other pictures when nothing was recorded yet.
		now, err := report.LoadAll(s.Results, s.Profile)
		if err == nil {
			_, err = s.recorded(now, run.study.Images)
		}
		if err != nil {
			return err
		}
	}
	files, network := map[string][]byte{}, record.NetworkFile(folder, id)
	if files[network], r.Network, err = train.EncodeNetwork(run.Run, store); err != nil {
		return err
	}
	if run.Decoded {
		fmt.Fprintf(s.Out, "%s: decoding from every level\n", name)
		var pictures map[string][]byte
		draw := run.Seed == 1 && r.Learned() // reports show no other
		if r.Decodings, pictures, err = decoded(ctx, runner, run.Run, store, draw); err != nil {
			return err
		}
		for file, picture := range pictures {
			files[filepath.Join(folder, record.FiguresFolder, file)] = picture
		}
	}
	for path, content := range files {
		if err := safefile.Write(path, content); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	if err := runner.SaveWhitening(ctx, folder, run.Run); err != nil {
		return fmt.Errorf("writing the whitening of %s: %w", id, err)
	}
	if r, err = r.Save(filepath.Join(folder, record.Folder)); err != nil {
		return err
	}
	testOrHeldOut := "test"
	if run.HeldOut > 0 {
		testOrHeldOut = "held-out"
	}
	fmt.Fprintf(s.Out, "%s: train error %.2f%%, %s error %.2f%%, %.0f s\n",
		name, r.TrainErr, testOrHeldOut, r.TestErr, r.Seconds)
	return nil
}

// decoded measures what a trained network decodes from its test images. With draw it also returns
// pictures of that, by the names of their files.
func decoded(
	ctx context.Context, runner *train.Runner, run experiments.Run, store *model.Store, draw bool,
) (*record.Decodings, map[string][]byte, error) {
	whitening, err := runner.Whitening(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	network := decode.NewTrained(runner.Backend, run, store, whitening)
	defer network.Close()
	return network.Measure(ctx, train.Tested(runner.Set, run), draw)
}
