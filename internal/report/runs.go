package report

import (
	"os"
	"strconv"
	"strings"
	"time"

	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// differs says what sets a run apart from its profile's: the flags that it was planned with, or that it is planned no more.
func (p *Profile) differs(r record.Record) string {
	flags := strings.TrimSpace(r.Overrides.Flags())
	if flags == "" && p.Trial(r) {
		return "no longer planned"
	}
	return flags
}

// Runs lists all records for a terminal, in at most 100 columns.
func (p *Profile) Runs() Table {
	t := Table{Name: "runs", Columns: []Column{
		{Title: "ID", Kind: Code, Most: 44}, {Title: "differs", Kind: Code, Most: 22}, {Title: "train %", Kind: Number}, {Title: "test %", Kind: Number},
		{Title: "seconds", Kind: Number}, {Title: "network"},
	}}
	for _, r := range p.sorted {
		here := Cell{}
		if _, err := os.Stat(train.NetworkFile(p.Folder, r.ID)); err == nil {
			here = text("here")
		}
		t.Rows = append(t.Rows, []Cell{
			text(r.ID), text(p.differs(r)), number(r.TrainErr, 2), number(r.TestErr, 2), number(r.Seconds, 0), here,
		})
	}
	return t
}

// runsTable lists all records for programs, with all that they say of a run in a line.
func (p *Profile) runsTable() Table {
	t := Table{Name: "runs"}
	for _, name := range []string{"id", "experiment", "profile", "trial", "flags", "command", "dataset", "dataset_sha256", "commit", "go", "gomlx",
		"backend", "plugin", "system", "cpu", "gpu", "finished", "network_sha256", "network_half_sha256"} {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for _, name := range []string{"seed", "width", "train_images", "held_out", "test_images", "epochs", "parameters", "train_err", "test_err",
		"train_loss", "test_loss", "penalty", "seconds", "cores", "devices"} {
		t.Columns = append(t.Columns, Column{Name: name, Kind: Number})
	}
	for _, r := range p.sorted {
		var line []Cell
		run, o := r.Run, r.Origin
		for _, value := range []string{r.ID, run.Experiment, run.Profile, strconv.FormatBool(p.Trial(r)), strings.TrimSpace(r.Overrides.Flags()), r.Command,
			run.Dataset.Name, run.Dataset.SHA256, o.Commit, o.Go, o.GoMLX, o.Backend, o.Plugin, o.System, o.CPU, o.GPU,
			r.Finished.UTC().Format(time.RFC3339), r.Network.SHA256, r.Network.HalfSHA256} {
			line = append(line, text(value))
		}
		for _, value := range []int{run.Seed, run.Width(), run.TrainImages, run.HeldOut, run.TestImages, run.Epochs, r.Parameters} {
			line = append(line, count(value))
		}
		for _, value := range []float64{r.TrainErr, r.TestErr, r.TrainLoss, r.TestLoss, r.Penalty, r.Seconds, float64(o.Cores), float64(o.Devices)} {
			line = append(line, number(value, 4))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// trials lists the records of runs that the profile does not plan.
func (p *Profile) trials() Table {
	t := Table{Title: "Runs that the profile does not plan. They enter no table and no verdict.", Columns: []Column{
		{Title: "experiment", Kind: Code}, {Title: "differs", Kind: Code}, {Title: "seed", Kind: Number}, {Title: "training error %", Kind: Number},
		{Title: "held-out error %", Kind: Number}, {Title: "test error %", Kind: Number}, {Title: "seconds", Kind: Number}, {Title: "command", Kind: Code},
	}}
	for _, r := range p.sorted {
		if !p.Trial(r) {
			continue
		}
		heldOut, test := Cell{}, number(r.TestErr, 2)
		if r.Run.HeldOut > 0 {
			heldOut, test = test, heldOut
		}
		t.Rows = append(t.Rows, []Cell{
			text(r.Run.Experiment), text(p.differs(r)), count(r.Run.Seed), number(r.TrainErr, 2), heldOut, test, number(r.Seconds, 0), text(r.Command),
		})
	}
	return t.withoutEmpty()
}

// curvesTable has the learning curves of all records, a line an epoch.
func (p *Profile) curvesTable() Table {
	t := Table{Name: "curves", Columns: []Column{{Name: "id"}, {Name: "experiment"}}}
	for _, name := range []string{"seed", "epoch", "step", "batch_loss", "batch_err", "seconds", "train_loss", "train_err", "test_err"} {
		t.Columns = append(t.Columns, Column{Name: name, Kind: Number})
	}
	for _, r := range p.sorted {
		for _, e := range r.Curve {
			line := []Cell{text(r.ID), text(r.Run.Experiment), count(r.Run.Seed), count(e.Epoch), count(e.Step),
				number(e.BatchLoss, 5), number(e.BatchErr, 3), number(e.Seconds, 2), {}, {}, {}}
			if e.Trace != nil {
				line = append(line[:8], number(e.Trace.TrainLoss, 5), number(e.Trace.TrainErr, 3), number(e.Trace.TestErr, 3))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}
