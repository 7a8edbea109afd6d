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

// list lists records, with a last column of the caller's.
func list(records []record.Record, last Column, cell func(record.Record) Cell) Table {
	t := Table{Columns: []Column{{Title: "ID", Kind: Code}, {Title: "training error %", Kind: Number},
		{Title: "test error %", Kind: Number}, {Title: "held-out error %", Kind: Number},
		{Title: "seconds", Kind: Number}, last}}
	for _, r := range records {
		test, heldOut := number(r.TestErr, 2), Cell{}
		if r.Run.HeldOut > 0 {
			test, heldOut = heldOut, test
		}
		t.Rows = append(t.Rows, []Cell{text(r.ID), number(r.TrainErr, 2), test, heldOut,
			number(r.Seconds, 0), cell(r)})
	}
	return t.withoutEmpty()
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
		t := list(groups[difference], Column{Title: "network"}, func(r record.Record) Cell {
			if _, err := os.Stat(record.NetworkFile(p.Folder, r.ID)); err != nil {
				return Cell{}
			}
			return text("here")
		})
		if difference != "" {
			t.Title = "trials: " + difference
		}
		tables = append(tables, t)
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
			{"dataset", text(run.Dataset.Name)}, {"dataset_sha256", text(run.Dataset.SHA256)},
			{"commit", text(o.Commit)}, {"go", text(o.Go)}, {"gomlx", text(o.GoMLX)},
			{"backend", text(o.Backend)}, {"plugin", text(o.Plugin)}, {"system", text(o.System)},
			{"cpu", text(o.CPU)}, {"gpu", text(o.GPU)},
			{"finished", text(r.Finished.UTC().Format(time.RFC3339))},
			{"network_sha256", text(r.Network.SHA256)},
			{"network_half_sha256", text(r.Network.HalfSHA256)},
			{"seed", count(run.Seed)}, {"width", count(run.Width())},
			{"train_images", count(run.TrainImages)}, {"held_out", count(run.HeldOut)},
			{"test_images", count(run.TestImages)}, {"epochs", count(run.Epochs)},
			{"parameters", count(r.Parameters)},
			{"train_err", number(r.TrainErr, 2)}, {"test_err", number(r.TestErr, 2)},
			{"train_loss", number(r.TrainLoss, 4)}, {"test_loss", number(r.TestLoss, 4)},
			{"penalty", number(r.Penalty, 4)}, {"seconds", number(r.Seconds, 0)},
			{"cores", count(o.Cores)},
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
	planned := func(r record.Record) bool { return !p.Trial(r) }
	t := list(slices.DeleteFunc(slices.Clone(p.sorted), planned), Column{Title: "differs", Kind: Code},
		func(r record.Record) Cell { return text(p.differs(r)) })
	t.Title = "Runs that the profile does not plan. They enter no table and no verdict."
	t.Notes = []string{"[runs.csv](runs.csv) has their commands."}
	return t
}

// TrialsOf lists the runs of a study that a user's changes to the profile plan, in the order of the
// study, and how far each errs from the run that it changes: the same without --set, by the same
// seed. Where that is not recorded no difference is given.
func (p *Results) TrialsOf(study experiments.Study, o experiments.Overrides) Table {
	set := p.Datasets[study.Images]
	study = p.onOwn(study)
	// None where running says why, or where --set alone makes runs possible: a batch of few pictures.
	var trials, plain []experiments.Run
	trials, _ = experiments.Plan(study, p.Profile, set, o)
	if unchanged := o; o.Set != "" {
		unchanged.Set = ""
		plain, _ = experiments.Plan(study, p.Profile, set, unchanged)
	}
	var recorded []record.Record
	more := map[string]Cell{}
	for i, run := range trials {
		r, ok := p.Records[run.ID()]
		if !ok {
			continue
		}
		recorded = append(recorded, r)
		if plain != nil {
			if other, ok := p.Records[plain[i].ID()]; ok {
				more[r.ID] = number(r.TestErr-other.TestErr, 2)
			}
		}
	}
	t := list(recorded, Column{Title: "points more than without --set", Kind: Number},
		func(r record.Record) Cell { return more[r.ID] })
	t.Title = "trials: " + strings.TrimSpace(o.Flags())
	t.Columns[4].Title = "" // seconds
	return t
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
				count(e.Step), number(e.BatchLoss, 5), number(e.BatchErr, 3), number(e.Seconds, 2), {}, {}, {}}
			if e.Trace != nil {
				line = append(line[:8], number(e.Trace.TrainLoss, 5), number(e.Trace.TrainErr, 3),
					number(e.Trace.TestErr, 3))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}
