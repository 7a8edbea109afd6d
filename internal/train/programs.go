package train

import (
	"sync"

	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"

	"ebsscgo/experiments"
)

// Programs keeps the compiled programs of runs for later runs that differ from them in the seed
// alone. It serves one backend; several runs may use it at a time. A nil *Programs keeps none.
type Programs struct {
	mutex sync.Mutex
	kept  map[string][]program // by shape
}

// program is what compiles for a run, with the store whose variables it reads at each call.
type program struct {
	store *model.Store
	// trainer has the program of a training step; it is nil before the first. evaluator is the program
	// of the model as it stands. Both compile at their first call.
	trainer   *train.Trainer
	evaluator *model.Exec
}

// shape names what the programs of a run depend on: all but its seed.
func shape(run experiments.Run) string {
	run.Seed = 0
	return run.ID()
}

// take returns a program that an earlier run of the same shape has left.
func (p *Programs) take(run experiments.Run) (kept program, ok bool) {
	if p == nil {
		return kept, false
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all := p.kept[shape(run)]
	if len(all) == 0 {
		return kept, false
	}
	p.kept[shape(run)] = all[1:]
	return all[0], true
}

// mostKept is how many programs are kept at a time: each takes some 25 MB.
const mostKept = 8

// keep keeps a program, whose variables have no values, for later runs of the same shape.
func (p *Programs) keep(run experiments.Run, ended program) {
	count := 0
	if p != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		for _, all := range p.kept {
			count += len(all)
		}
	}
	if p == nil || count >= mostKept {
		ended.finalize()
		return
	}
	if p.kept == nil {
		p.kept = map[string][]program{}
	}
	p.kept[shape(run)] = append(p.kept[shape(run)], ended)
}

// Close frees all programs. Their backend must not have been finalized yet.
func (p *Programs) Close() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, all := range p.kept {
		for _, one := range all {
			one.finalize()
		}
	}
	p.kept = nil
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

// compile makes the run's evaluator for the model in its store, or moves that model to the programs
// of an earlier run.
func (s *trainingRun) compile() (err error) {
	kept, ok := s.runner.Programs.take(s.run)
	if !ok {
		s.say("compiling %s", s.ID)
		s.evaluator, err = newEvaluator(s.runner.Backend, s.store, s.run)
		return err
	}
	s.say("training %s", s.ID)
	model := s.store
	s.program = kept
	if err := model.InitializeVariables(s.runner.Backend, nil); err != nil {
		return err
	}
	for v := range model.IterVariables() {
		if err := kept.store.GetVariable(v.Path()).SetValuePreservingOld(v.MustValue()); err != nil {
			return err
		}
	}
	return nil
}

// release returns the trained network, and frees the run's programs, or keeps them if a later run
// can use them. What is kept holds no values.
func (s *trainingRun) release() (trained *model.Store, err error) {
	if !s.runner.Places[s.ID].SeedsFollow || s.runner.Origin.Devices > 1 {
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
	s.runner.Programs.keep(s.run, s.program)
	return trained, nil
}
