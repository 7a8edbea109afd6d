package report

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// differs says what sets a trial apart from its profile's runs: its flags, or "not planned" where
// no flag does.
func (p *Results) differs(r record.Record) string {
	if !p.Trial(r) {
		return ""
	}
	overrides := r.Overrides
	if planned := p.rows[r.Run.Experiment].Planned; planned == 0 || r.Run.HeldOut > 0 ||
		r.Run.Seed <= planned {
		overrides.Seeds = 0 // else more seeds than planned are what differs
	}
	return cmp.Or(strings.TrimSpace(overrides.Flags()), "not planned")
}

func (p *Results) list(records []record.Record) Table {
	t := Table{Columns: []Column{{Title: "ID", Kind: Code}, {Title: "training error %", Kind: Number},
		{Title: "test error %", Kind: Number},
		{Title: "held-out error %", Kind: Number}, {Title: "seconds", Kind: Number},
		{Title: "differs", Kind: Code}}}
	for _, r := range records {
		test, heldOut := number(r.TestErr, 2), Cell{}
		if r.Run.HeldOut > 0 {
			test, heldOut = heldOut, test
		}
		t.Rows = append(t.Rows, []Cell{text(r.ID), number(r.TrainErr, 2), test, heldOut,
			number(r.Seconds, 0), text(p.differs(r))})
	}
	return t
}

// Runs lists all records, and says which networks are here: the profile's own runs in one table,
// trials in one for each way in which they differ.
func (p *Results) Runs() (tables []Table) {
	groups := map[string][]record.Record{}
	for _, r := range p.sorted {
		difference := p.differs(r)
		groups[difference] = append(groups[difference], r)
	}
	for _, difference := range slices.Sorted(maps.Keys(groups)) {
		t := p.list(groups[difference])
		if difference != "" {
			t.Title = "trials: " + difference
		}
		t.Columns[5] = Column{Title: "network"} // in the place of the difference
		for i, r := range groups[difference] {
			t.Rows[i][5] = Cell{}
			if _, err := os.Stat(record.NetworkFile(p.Folder, r.ID)); err == nil {
				t.Rows[i][5] = text("here")
			}
		}
		tables = append(tables, t.withoutEmpty())
	}
	return tables
}

// runsTable lists all records for programs, with all that they say of a run in a line.
func (p *Results) runsTable() Table {
	t := Table{Name: "runs"}
	for i, r := range p.sorted {
		run, o, line := r.Run, r.Origin, []Cell(nil)
		for _, field := range []struct {
			name string
			cell Cell
		}{
			{"id", text(r.ID)}, {"experiment", text(run.Experiment)}, {"profile", text(run.Profile)},
			{"trial", text(strconv.FormatBool(p.Trial(r)))},
			{"flags", text(strings.TrimSpace(r.Overrides.Flags()))}, {"command", text(r.Command)},
			{"dataset", text(run.Dataset.Name)},
			{"dataset_sha256", text(run.Dataset.SHA256)}, {"commit", text(o.Commit)}, {"go", text(o.Go)},
			{"gomlx", text(o.GoMLX)},
			{"backend", text(o.Backend)}, {"plugin", text(o.Plugin)}, {"system", text(o.System)},
			{"cpu", text(o.CPU)}, {"gpu", text(o.GPU)},
			{"finished", text(r.Finished.UTC().Format(time.RFC3339))},
			{"network_sha256", text(r.Network.SHA256)},
			{"network_half_sha256", text(r.Network.HalfSHA256)}, {"seed", count(run.Seed)},
			{"width", count(run.Width())},
			{"train_images", count(run.TrainImages)}, {"held_out", count(run.HeldOut)},
			{"test_images", count(run.TestImages)},
			{"epochs", count(run.Epochs)}, {"parameters", count(r.Parameters)},
			{"train_err", number(r.TrainErr, 2)}, {"test_err", number(r.TestErr, 2)},
			{"train_loss", number(r.TrainLoss, 4)}, {"test_loss", number(r.TestLoss, 4)},
			{"penalty", number(r.Penalty, 4)},
			{"seconds", number(r.Seconds, 0)}, {"cores", count(o.Cores)},
		} {
			if line = append(line, field.cell); i == 0 {
				t.Columns = append(t.Columns, Column{Name: field.name})
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

func (p *Results) trials() Table {
	t := p.list(slices.DeleteFunc(slices.Clone(p.sorted),
		func(r record.Record) bool { return !p.Trial(r) }))
	t.Title = "Runs that the profile does not plan. They enter no table and no verdict."
	t.Notes = []string{"[runs.csv](runs.csv) has their commands."}
	return t.withoutEmpty()
}

// TrialsOf lists the runs of a study that a user's changes to the profile plan, in the order of the
// study, and how far each errs from the run that it changes: the same without --set, by the same
// seed. Where that is not recorded no difference is given.
func (p *Results) TrialsOf(study experiments.Study, o experiments.Overrides) Table {
	set := p.Datasets[study.Images]
	study = p.onOwn(study)
	test := "test error %"
	if o.HeldOut > 0 {
		test = "held-out error %"
	}
	t := Table{Title: "trials: " + strings.TrimSpace(o.Flags()),
		Columns: []Column{{Title: "ID", Kind: Code},
			{Title: "training error %", Kind: Number}, {Title: test, Kind: Number},
			{Title: "points more than without --set", Kind: Number}}}
	unchanged := o
	unchanged.Set = ""
	trials, err := experiments.Plan(study, p.Profile, set, o)
	if err != nil {
		return t // which running says
	}
	var plain []experiments.Run // none where --set alone makes runs possible: a batch of few pictures
	if o.Set != "" {
		plain, _ = experiments.Plan(study, p.Profile, set, unchanged)
	}
	for i, run := range trials {
		r, ok := p.Records[run.ID()]
		if !ok {
			continue
		}
		difference := Cell{}
		if plain != nil {
			if other, ok := p.Records[plain[i].ID()]; ok {
				difference = number(r.TestErr-other.TestErr, 2)
			}
		}
		t.Rows = append(t.Rows, []Cell{text(r.ID), number(r.TrainErr, 2), number(r.TestErr, 2),
			difference})
	}
	return t.withoutEmpty()
}

// curvesTable has the learning curves of all records, a line an epoch.
func (p *Results) curvesTable() Table {
	t := Table{Name: "curves", Columns: []Column{{Name: "id"}, {Name: "experiment"}}}
	for _, name := range []string{"seed", "epoch", "step", "batch_loss", "batch_err", "seconds",
		"train_loss", "train_err", "test_err"} {
		t.Columns = append(t.Columns, Column{Name: name, Kind: Number})
	}
	for _, r := range p.sorted {
		for _, e := range r.Curve {
			line := []Cell{text(r.ID), text(r.Run.Experiment), count(r.Run.Seed), count(e.Epoch),
				count(e.Step),
				number(e.BatchLoss, 5), number(e.BatchErr, 3), number(e.Seconds, 2), {}, {}, {}}
			if e.Trace != nil {
				line = append(line[:8], number(e.Trace.TrainLoss, 5), number(e.Trace.TrainErr, 3),
					number(e.Trace.TestErr, 3))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}
