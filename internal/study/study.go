// Package study is the pipeline from declarations to results: plan runs, train them, decode the trained networks, report. The
// command line and the notebooks both use it.
package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/gomlx/compute"
	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ablations"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/train"
)

// Suite holds all studies, in the order in which they run and are reported.
var Suite = slices.Concat(experiments.Studies, ablations.Studies)

// Reported returns the studies that the paper reports.
func Reported() experiments.Suite {
	return slices.DeleteFunc(slices.Clone(Suite), func(s experiments.Study) bool { return s.Ablation })
}

// Options say what a session runs, on what, and where its results go.
type Options struct {
	// Profile by its name.
	Profile string
	// Overrides change the profile: such runs are trials.
	experiments.Overrides
	// Data is a folder with data sets; empty for $EBSSC_DATA, the cache, or a download.
	Data string
	// Backend is cpu, cuda, go or a GoMLX configuration; empty for the best available one.
	Backend string
	// Devices share each training batch.
	Devices int
	// Results is the folder of all results.
	Results string
	// Jobs is the number of runs that train at a time. On a CPU each has an equal share of the cores.
	Jobs int
	// Shard of all runs; the zero value stands for all.
	Shard Shard
	// Out takes messages, a line a call, from several runs at a time.
	Out io.Writer
}

// validate finds the profile, and returns an error if an option cannot be met. It downloads and compiles nothing.
func (o Options) validate() (experiments.Profile, error) {
	profile, err := experiments.FindProfile(o.Profile)
	if err == nil {
		err = checkResults(o.Results)
	}
	switch {
	case err != nil:
		return profile, err
	case o.Devices < 1:
		return profile, errors.New("--devices must be at least 1")
	case o.Jobs < 1:
		return profile, errors.New("--jobs must be at least 1")
	}
	return profile, o.Overrides.Validate()
}

// checkResults returns an error for what cannot be the folder of all results.
func checkResults(folder string) error {
	switch {
	case folder == "":
		return errors.New("--results is empty: name a folder")
	case hasRecords(folder):
		return fmt.Errorf("%s is the folder of one profile: name the folder that it lies in with --results", folder)
	}
	return nil
}

// hasRecords says whether a folder has records, and so is that of one profile.
func hasRecords(folder string) bool {
	files, _ := fs.Glob(os.DirFS(folder), record.Folder+"/*.json")
	return len(files) > 0
}

// Folders are the folders in results that have records, each with its profile: "quick", or "quick-mnist32" for another data set. It is an error
// if there is none.
func Folders(results string) (folders map[string]experiments.Profile, err error) {
	if err := checkResults(results); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(results)
	if err != nil {
		return nil, fmt.Errorf("no results in %s: %w: name their folder with --results", results, err)
	}
	folders = map[string]experiments.Profile{}
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), "-")
		if profile, err := experiments.FindProfile(name); err == nil && hasRecords(filepath.Join(results, entry.Name())) {
			folders[entry.Name()] = profile
		}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("no runs are recorded in %s: name the folder of results with --results", results)
	}
	return folders, nil
}

// Check plans all runs of the studies, and returns an error if one of them cannot be trained. It downloads and compiles nothing.
func (o Options) Check(studies experiments.Suite) error {
	profile, err := o.validate()
	if err != nil {
		return err
	}
	for _, study := range studies {
		if _, err := experiments.Plan(study, profile, study.Images.Declared(), o.Overrides); err != nil {
			return err
		}
	}
	return nil
}

// Shard is a part of all runs, for one task of an array job: run i, counted from 0, belongs to shard i mod Count + 1.
type Shard struct {
	// Number of the shard, from 1, of Count.
	Number, Count int
}

// ParseShard reads "3/10". An empty text stands for all runs.
func ParseShard(text string) (s Shard, err error) {
	if text == "" {
		return s, nil
	}
	_, err = fmt.Sscanf(text+"\n", "%d/%d\n", &s.Number, &s.Count)
	if err != nil || s.Number < 1 || s.Number > s.Count {
		return s, fmt.Errorf("--shard %q: give the shard and the number of shards, such as 3/10", text)
	}
	return s, nil
}

// Session executes studies on one backend. Close frees it.
type Session struct {
	Options
	// Backend that computes, and Choice, how it was chosen.
	Backend compute.Backend
	Choice  device.Choice

	profile experiments.Profile
	runners map[experiments.Images]*train.Runner
}

// Start checks the options and starts the backend.
func Start(ctx context.Context, o Options) (*Session, error) {
	profile, err := o.validate()
	if err != nil {
		return nil, err
	}
	backend, choice, err := device.Open(ctx, o.Backend, o.Devices)
	if err != nil {
		return nil, err
	}
	if choice.Fallback && o.Shard.Count > 0 {
		backend.Finalize()
		return nil, fmt.Errorf("%s; all shards must compute on the same backend: name it with --backend", choice.Warning)
	}
	if choice.Warning != "" {
		fmt.Fprintln(o.Out, "warning: "+choice.Warning)
	}
	return &Session{Options: o, Backend: backend, Choice: choice, profile: profile, runners: map[experiments.Images]*train.Runner{}}, nil
}

// Close frees the backend.
func (s *Session) Close() { s.Backend.Finalize() }

// Folder of the profile's results on a data set.
func (s *Session) Folder(set string) string {
	return filepath.Join(s.Results, dataset.Folder(s.Profile, set))
}

// Runner returns the runner on images of a kind, whose data set it finds or downloads first. If CIFAR-10 cannot be had, MNIST stands in for
// it, but not in a shard, since all shards must train on the same data.
func (s *Session) Runner(ctx context.Context, images experiments.Images) (*train.Runner, error) {
	if runner, ok := s.runners[images]; ok {
		return runner, nil
	}
	find := dataset.FindOrStandIn
	if s.Shard.Count > 0 {
		find = dataset.Find
	}
	set, err := find(ctx, images, s.Data, s.Out)
	if err != nil {
		return nil, err
	}
	runner := s.newRunner(set)
	runner.Origin = originOf(s.Choice, s.Devices) // for records; it hashes the plugin, so who trains nothing does without
	runner.Checkpoints = filepath.Join(s.Folder(set.Name), train.Checkpoints)
	s.runners[images] = runner
	return runner, nil
}

// RunnerOf returns the runner on the images that a recorded run was trained on, or on a copy of them.
func (s *Session) RunnerOf(ctx context.Context, images experiments.Images, recorded experiments.Dataset) (runner *train.Runner, err error) {
	var set *dataset.Set
	if dataset.StandsIn(recorded.Name) {
		set, err = dataset.StandIn(ctx, s.Data, s.Out)
	} else {
		set, err = dataset.Find(ctx, images, s.Data, s.Out)
	}
	if err != nil {
		return nil, err
	}
	runner = s.newRunner(set)
	if runner.Dataset() != recorded && !dataset.Copies(set.Name, recorded.Name) {
		return nil, fmt.Errorf("the run was trained on %s with SHA-256 %s, but the data here is %s with %s: give the same with --data",
			recorded.Name, recorded.SHA256, set.Name, set.SHA256)
	}
	return runner, nil
}

// newRunner makes the runner on a data set.
func (s *Session) newRunner(set *dataset.Set) *train.Runner {
	return &train.Runner{Backend: s.Backend, Set: set, Log: s.Out, Places: map[string]train.Place{}}
}

// Run trains the studies' runs that are not recorded yet, decodes where an experiment asks for it, and writes the reports of the folders that it
// wrote into, which it returns by their names. A shard writes records alone. Where runs diverged, diverged names them; the others were trained all the same.
func (s *Session) Run(ctx context.Context, studies experiments.Suite) (reports map[string]*report.Profile, diverged, err error) {
	plans, err := s.plan(ctx, studies)
	if err != nil {
		return nil, nil, err
	}
	folders := map[string]experiments.Profile{}
	for _, p := range plans {
		folders[dataset.Folder(s.Profile, p.runner.Set.Name)] = s.profile
	}
	for folder := range folders { // a damaged record would be refused after hours of training
		if _, err := report.Load(s.Results, folder, s.profile, Suite); err != nil {
			return nil, nil, err
		}
	}
	if strings.HasPrefix(commit(), unknownCommit) {
		fmt.Fprintln(s.Out, "warning: records will not name the commit: build ebssc in a git clone of its sources")
	}
	for _, p := range plans {
		fmt.Fprintf(s.Out, "%s: %s on %s (%s), profile %s, runs: %d, results in %s\n", p.study.Name, dataset.Title(p.runner.Set.Name),
			s.Choice.Name, s.Choice.Why, s.Profile, len(p.runs), s.Folder(p.runner.Set.Name))
		diverging, err := s.train(ctx, p)
		diverged = errors.Join(diverged, diverging)
		if err != nil {
			return nil, diverged, err
		}
	}
	if s.Shard.Count > 0 {
		return nil, diverged, nil
	}
	reports, err = report.WriteAll(s.Results, folders, Suite)
	return reports, diverged, err
}

// plan holds the runs of a study that belong to the shard, and their runner.
type plan struct {
	study   experiments.Study
	runner  *train.Runner
	runs    []experiments.Run
	missing int // runs without a record
}

// plan finds the data of all studies, plans their runs, and tells the runners where each run stands among all.
func (s *Session) plan(ctx context.Context, studies experiments.Suite) (plans []plan, err error) {
	index, total := 0, 0
	for _, study := range studies {
		runner, err := s.Runner(ctx, study.Images)
		if err != nil {
			return nil, err
		}
		runs, err := experiments.Plan(study, s.profile, runner.Dataset(), s.Overrides)
		if err != nil {
			return nil, err
		}
		p := plan{study: study, runner: runner}
		for _, run := range runs {
			if s.Shard.Count == 0 || index%s.Shard.Count == s.Shard.Number-1 {
				p.runs = append(p.runs, run)
			}
			index++
		}
		if s.Jobs > 1 { // the longest first of each seed, so that several jobs end at about the same time
			slices.SortStableFunc(p.runs, func(a, b experiments.Run) int {
				return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(b.Work(), a.Work()))
			})
		}
		total += len(p.runs)
		plans = append(plans, p)
	}
	number := total     // from the last run to the first
	var later []float64 // work of the missing runs after it
	for i, p := range slices.Backward(plans) {
		for _, run := range slices.Backward(p.runs) {
			work := max(1, run.Work())
			beside := min(s.Jobs-1, len(later)) // runs that train at the same time as this one
			p.runner.Places[run.ID()] = train.Place{
				Name:  fmt.Sprintf("run %d of %d, %s, seed %d", number, total, Suite.Title(run.Experiment), run.Seed),
				Later: floats.Sum(later[:len(later)-beside]) / work / float64(s.Jobs),
			}
			number--
			if _, err := os.Stat(record.Path(filepath.Join(s.Folder(p.runner.Set.Name), record.Folder), run.ID())); err != nil {
				later = append(later, work)
				plans[i].missing++
			}
		}
	}
	return plans, nil
}

// train executes the runs of a study, several at a time if asked for. One that diverges does not stop the others.
func (s *Session) train(ctx context.Context, p plan) (diverging, err error) {
	count := min(s.Jobs, max(1, p.missing)) // one run left gets all cores
	queue := make(chan experiments.Run, len(p.runs))
	for _, run := range p.runs {
		queue <- run
	}
	close(queue)
	var mutex sync.Mutex // of diverging
	jobs, running := errgroup.WithContext(ctx)
	for job := range count {
		jobs.Go(func() error {
			runner, release, err := s.runnerOfJob(running, job, count, p.runner)
			if err != nil {
				return err
			}
			defer release()
			for run := range queue {
				if running.Err() != nil {
					return context.Cause(running)
				}
				var diverged train.Diverged
				if err := fullDisk(s.trainOne(running, p.study, runner, run)); errors.As(err, &diverged) {
					fmt.Fprintf(s.Out, "%s; going on with the other runs\n", diverged)
					mutex.Lock()
					diverging = errors.Join(diverging, diverged) // without what GoMLX's loop says around it
					mutex.Unlock()
				} else if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = jobs.Wait()
	return diverging, err
}

// runnerOfJob returns the runner of one of `jobs` jobs. Several on the CPU have a backend each, on a share of the cores of its own:
// runs side by side train more images a second than one on all cores.
func (s *Session) runnerOfJob(ctx context.Context, job, jobs int, shared *train.Runner) (runner *train.Runner, release func(), err error) {
	if jobs == 1 || s.Choice.CUDA() {
		return shared, func() {}, nil
	}
	cores, err := device.PinThread(job, jobs)
	if err != nil {
		return nil, nil, err
	}
	backend, _, err := device.Open(ctx, s.Choice.Config, s.Devices)
	if err != nil {
		return nil, nil, err
	}
	own := *shared
	own.Backend, own.Origin.Cores = backend, cores
	return &own, backend.Finalize, nil
}

// trainOne trains a run, unless it is recorded, and writes its trained network, its figures and its record.
func (s *Session) trainOne(ctx context.Context, study experiments.Study, runner *train.Runner, run experiments.Run) error {
	folder, id, name := s.Folder(runner.Set.Name), run.ID(), runner.Places[run.ID()].Name
	records, figures, networks := filepath.Join(folder, record.Folder), filepath.Join(folder, record.FiguresFolder), filepath.Join(folder, train.Networks)
	needed := []string{runner.Checkpoints, records, networks}
	if run.Decoded {
		needed = append(needed, figures)
	}
	for _, folder := range needed {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("a folder for results: %w; give another one with --results", err)
		}
	}
	locked := filepath.Join(runner.Checkpoints, id+".lock")
	unlock, err := lock(locked, id)
	if err != nil {
		return err
	}
	defer unlock()
	// tidy removes what a recorded run needs no more. The lock's file goes last: who makes another one finds the record.
	tidy := func() error { return errors.Join(train.RemoveCheckpoints(runner.Checkpoints, id), os.Remove(locked)) }
	for _, folder := range needed {
		if err := safefile.RemoveUnfinished(folder, id); err != nil {
			return err
		}
	}
	finished, err := record.Load(record.Path(records, id))
	if err == nil {
		fmt.Fprintf(s.Out, "%s: recorded on %s, and not trained again\n", name, finished.Finished.Format(time.DateOnly))
		return tidy()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	finished, store, err := runner.Train(ctx, run)
	if err != nil {
		return err
	}
	defer store.Finalize()
	finished.Overrides = s.Overrides
	finished.Command = fmt.Sprintf("ebssc run %s --only %s --profile %s%s", study.Name, run.Experiment, s.Profile, s.Overrides.Flags())
	network, sums, err := train.EncodeNetwork(run, store)
	if err != nil {
		return err
	}
	finished.Network = sums
	files := map[string][]byte{}
	if run.Decoded {
		fmt.Fprintf(s.Out, "%s: decoding from every level\n", name)
		if finished.Decodings, files, err = decodeTrained(ctx, runner, finished, store, figures); err != nil {
			return err
		}
	}
	files[train.NetworkFile(folder, id)] = network
	for path, content := range files {
		if err := safefile.Write(path, content); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	if finished, err = finished.Save(records); err != nil {
		return err
	}
	kind := "test"
	if run.HeldOut > 0 {
		kind = "held-out"
	}
	fmt.Fprintf(s.Out, "%s: train error %.2f%%, %s error %.2f%%, %.0f s\n", name, finished.TrainErr, kind, finished.TestErr, finished.Seconds)
	return tidy()
}

// lock keeps other processes out of a run until unlock is called or this process ends, however it ends.
func lock(path, id string) (unlock func() error, err error) {
	file := flock.New(path, flock.SetPermissions(0o644))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w; give another folder with --results", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("another process is training %s: wait for it, or give another folder with --results", id)
	}
	return file.Unlock, nil
}

// fullDisk adds what to do to an error of a full disk. Of one that names its file it leaves out who wrote the file.
func fullDisk(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if file := (*fs.PathError)(nil); errors.As(err, &file) {
			err = file
		}
		return fmt.Errorf("%w; make room, then run it again: it goes on from its last checkpoint", err)
	}
	return err
}

// originOf names the program and the computer for records.
func originOf(choice device.Choice, devices int) record.Origin {
	return record.Origin{
		Commit: commit(), Go: runtime.Version(), GoMLX: device.GoMLXVersion(), Backend: choice.Name, Plugin: plugin(choice.Plugin), Devices: devices,
		System: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpuid.CPU.BrandName, Cores: device.Cores(), GPU: choice.GPU(),
	}
}

// Versions names the program, Go, GoMLX and the system in a line.
func Versions() string {
	return fmt.Sprintf("ebssc, commit %s, %s, GoMLX %s, %s/%s", commit(), runtime.Version(), device.GoMLXVersion(), runtime.GOOS, runtime.GOARCH)
}

// plugin names an XLA plugin by its file and the start of its SHA-256; empty for none.
func plugin(path string) string {
	if path == "" {
		return ""
	}
	hash := sha256.New()
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		_, err = io.Copy(hash, file)
	}
	if err != nil {
		return filepath.Base(path)
	}
	return fmt.Sprintf("%s, SHA-256 %.12x", filepath.Base(path), hash.Sum(nil))
}

// unknownCommit stands for the commit where the program does not know it.
const unknownCommit = "unknown"

// commit is the git commit that the program was built from, with "+changes" if its folder differed from it; "unknown" where the go command
// wrote none into the program.
func commit() string {
	settings := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
	}
	commit := cmp.Or(settings["vcs.revision"], unknownCommit)
	if commit = commit[:min(12, len(commit))]; settings["vcs.modified"] == "true" {
		commit += "+changes"
	}
	return commit
}
