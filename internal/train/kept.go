package train

import (
	"slices"
	"sync"

	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"

	"ebsscgo/experiments"
)

// Kept has what runs leave for later ones on the same backend: compiled programs, for runs that
// differ in the seed alone, and the images of one run. Several runs may use it at a time.
type Kept struct {
	mutex    sync.Mutex
	programs []program
	images   *uploaded // nil without
}

// program is what compiles for a run, with the store whose variables it reads at each call.
type program struct {
	store *model.Store
	// trainer has the program of a training step; it is nil before the first. evaluator is the program
	// of the model as it stands. Both compile at their first call.
	trainer   *train.Trainer
	evaluator *model.Exec
	// shape names the runs that can use a kept program, see the function.
	shape string
}

// shape names what the programs of a run depend on: all but its seed.
func shape(run experiments.Run) string {
	run.Seed = 0
	return run.ID()
}

// takeProgram returns a program that an earlier run of the same shape has left.
func (k *Kept) takeProgram(run experiments.Run) (kept program, ok bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	wanted := shape(run)
	at := slices.IndexFunc(k.programs, func(one program) bool { return one.shape == wanted })
	if at < 0 {
		return kept, false
	}
	kept = k.programs[at]
	k.programs = slices.Delete(k.programs, at, at+1)
	return kept, true
}

// takeImages returns the images that an earlier run has left, if they are those of a run, else nil.
// It frees others: the run needs their memory.
func (k *Kept) takeImages(run experiments.Run) *uploaded {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	kept := k.images
	k.images = nil
	if kept != nil && kept.of != imageKeyOf(run) {
		kept.finalize()
		return nil
	}
	return kept
}

// leaveImages keeps the images of a run if a later run has the same, unless there are some already.
// Else it frees them.
func (k *Kept) leaveImages(place Place, images *uploaded) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if place.ImagesFollow && k.images == nil {
		k.images = images
	} else {
		images.finalize()
	}
}

// mostKept is how many programs are kept at a time: each takes some 25 MB.
const mostKept = 8

// keepProgram keeps a program, whose variables have no values, for later runs of the same shape.
func (k *Kept) keepProgram(run experiments.Run, ended program) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if len(k.programs) >= mostKept {
		ended.finalize()
		return
	}
	ended.shape = shape(run)
	k.programs = append(k.programs, ended)
}

// Close frees all. Their backend must not have been finalized yet.
func (k *Kept) Close() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for _, one := range k.programs {
		one.finalize()
	}
	if k.images != nil {
		k.images.finalize()
	}
	k.programs, k.images = nil, nil
}

// finalize frees a program with its variables; what is nil was not made.
func (p program) finalize() {
	if p.trainer != nil {
		p.trainer.ResetComputationGraphs()
	}
	if p.evaluator != nil {
		p.evaluator.Finalize()
	}
	if p.store != nil {
		// Now: the garbage collector does not see how much of the device's memory it holds.
		p.store.Finalize()
	}
}

// prepare makes the evaluator for the model in the run's store, or moves that model's values to the
// programs of an earlier run, which take the place of this one's. Programs compile when they are
// first called.
func (s *trainingRun) prepare() (err error) {
	kept, ok := s.runner.Kept.takeProgram(s.run)
	if !ok {
		s.say("compiling %s", s.ID)
		s.evaluator, err = newEvaluator(s.runner.Backend, s.store, s.run)
		return err
	}
	s.say("training %s", s.ID)
	fresh := s.store
	s.program = kept
	if err := fresh.InitializeVariables(s.runner.Backend, nil); err != nil {
		return err
	}
	for v := range fresh.IterVariables() {
		if err := kept.store.GetVariable(v.Path()).SetValuePreservingOld(v.MustValue()); err != nil {
			return err
		}
	}
	return nil
}

// release returns the trained network, and frees the run's programs, or keeps them if a later run
// can use them. What is kept holds no values.
func (s *trainingRun) release() (trained *model.Store, err error) {
	if !s.place.SeedsFollow {
		ended := s.program
		ended.store = nil
		ended.finalize()
		return s.store, nil
	}
	trained = newStore(s.run)
	for name, value := range s.run.Network.Variables(s.store) {
		v, err := trained.CreateVariable(name, value)
		if err == nil {
			err = s.store.GetVariable(v.Path()).SetValuePreservingOld(nil)
		}
		if err != nil {
			return nil, err
		}
	}
	for v := range s.store.IterVariables() {
		if isMetric(v) { // without an initializer
			continue
		}
		if err := v.Reset(); err != nil {
			return nil, err
		}
	}
	s.runner.Kept.keepProgram(s.run, s.program)
	return trained, nil
}
