package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// planned is a run that is to be carried out, as `ebssc plan` prints it.
type planned struct {
	ID         string `json:"id"`
	Study      string `json:"study"`
	Experiment string `json:"experiment"`
	Seed       int    `json:"seed"`
	// Done says that the run is recorded already.
	Done bool `json:"done"`
	// Seconds are what runs took that differ in the seed alone, in the mean; null where none is recorded.
	Seconds *float64 `json:"estimated_seconds"`
	// Command carries the run out, in a shell.
	Command string `json:"command"`
	// Args are the words of Command behind the program's name, for programs.
	Args []string `json:"args"`
}

func planCommand(stdout io.Writer) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "plan [STUDY...]",
		Short: "Print the runs of studies, a JSON object a line, for other machines to carry out",
		Long: "Print the runs of studies (default: all that the paper reports), a JSON object a line: the run's id, study, experiment\n" +
			"and seed, whether it is recorded, how long it should take, and the command that carries it out. Runs are independent of\n" +
			"one another. Commands may be run anywhere, with the same program, data and kind of backend: other bytes or settings have\n" +
			"another id, and are refused. Put the folders of their results together with `ebssc report --merge`.",
		Example: "  ebssc plan --profile paper --seeds 10 --backend cuda > plan.jsonl\n  ebssc run --plan plan.jsonl --line 3",
		RunE: func(cmd *cobra.Command, names []string) error {
			request, err := flags.check()
			if err != nil {
				return err
			}
			studies, err := named(names)
			if err != nil {
				return err
			}
			choice, err := device.Resolve(cmd.Context(), flags.backend)
			if err != nil {
				return err
			}
			groups, err := report.Collect(request.folder())
			if err != nil {
				return err
			}
			for _, study := range studies {
				set, err := dataset.Find(cmd.Context(), study.Images, flags.data, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				for _, e := range study.Experiments {
					runs, err := request.plan(study, e, (&train.Lab{Set: set}).Dataset(), choice.Name)
					if err != nil {
						return err
					}
					if err := request.print(stdout, study, groups, runs); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// named are studies by their names; without a name those that the paper reports.
func named(names []string) (studies []experiments.Study, err error) {
	if len(names) == 0 {
		reported, _ := reportedOrNot()
		return reported, nil
	}
	for _, name := range names {
		study, err := experiments.FindStudy(name)
		if err != nil {
			return nil, err
		}
		studies = append(studies, study)
	}
	return studies, nil
}

// print prints the runs of an experiment, a line each.
func (r request) print(stdout io.Writer, study experiments.Study, groups []report.Group, runs []experiments.Run) error {
	for _, run := range runs {
		id, err := run.ID()
		if err != nil {
			return err
		}
		p := planned{ID: id, Study: study.Name, Experiment: run.Experiment, Seed: run.Seed, Args: r.args(id)}
		p.Command = forShell(p.Args)
		for _, group := range groups {
			alike, err := group.Of(run)
			if err != nil {
				return err
			}
			if !alike {
				continue
			}
			var seconds []float64
			for _, result := range group {
				seconds = append(seconds, result.Seconds)
				p.Done = p.Done || result.ID == id
			}
			mean := stat.Mean(seconds, nil)
			p.Seconds = &mean
		}
		if err := json.NewEncoder(stdout).Encode(p); err != nil {
			return fmt.Errorf("printing a plan: %w", err)
		}
	}
	return nil
}

// args are those with which ebssc carries out a run.
func (r request) args(id string) []string {
	args := []string{"run", "--id", id, "--profile", r.profile}
	for _, flag := range []struct{ name, value, otherwise string }{
		{"--data", r.data, ""}, {"--backend", r.backend, ""}, {"--set", r.set, ""}, {"--results", r.results, "results"},
		{"--epochs", strconv.Itoa(r.epochs), "0"}, {"--held-out", strconv.Itoa(r.heldOut), "0"},
		{"--devices", strconv.Itoa(r.devices), "1"},
	} {
		if flag.value != flag.otherwise {
			args = append(args, flag.name, flag.value)
		}
	}
	return args
}

// forShell is ebssc with arguments, as a shell reads it.
func forShell(args []string) string {
	words := []string{"ebssc"}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// plain are words that no shell takes apart.
var plain = regexp.MustCompile(`^[\w./:=@%+,-]+$`)

// quoted is a word as a shell reads it.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// lineOf are the flags for `ebssc run` in a line, from 1, of a file that ebssc plan printed.
func lineOf(path string, number int) (flags []string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	lines := slices.Collect(strings.Lines(string(content)))
	if number < 1 || number > len(lines) {
		return nil, fmt.Errorf("%s has no line %d: give --line 1 to %d", path, number, len(lines))
	}
	var p planned
	if err := json.Unmarshal([]byte(lines[number-1]), &p); err != nil {
		return nil, fmt.Errorf("line %d of %s is none that ebssc plan printed: %w", number, path, err)
	}
	if len(p.Args) < 2 || p.Args[0] != "run" {
		return nil, fmt.Errorf("line %d of %s is none that ebssc plan printed: it has no args of ebssc run", number, path)
	}
	return p.Args[1:], nil
}

// runByID carries out one run of a plan, and records it. It writes no report.
func runByID(ctx context.Context, stdout io.Writer, id string, flags runFlags) error {
	request, err := flags.check()
	if err != nil {
		return err
	}
	study, e, seed, err := parseID(id)
	if err != nil {
		return err
	}
	request.seeds = seed
	opened, choice, err := openBackend(ctx, stdout, flags.backend, flags.devices)
	if err != nil {
		return err
	}
	defer opened.Finalize()
	s := studyRun{request: request, study: study, choice: choice, stdout: stdout}
	if err := s.prepare(ctx, opened); err != nil {
		return err
	}
	runs, err := s.plan(study, e, s.lab.Dataset(), choice.Name)
	if err != nil {
		return err
	}
	run := runs[seed-1]
	here, err := run.ID()
	if err != nil {
		return err
	}
	if here != id {
		return fmt.Errorf("here seed %d of %s is run %s, not %s: the program, profile, data (%s), settings or kind of backend (%s) are not those of the plan",
			seed, e.Name, here, id, s.lab.Set.Name, choice.Name)
	}
	return s.trainOne(ctx, e, run)
}

// idParts are an experiment, a seed and a hash.
var idParts = regexp.MustCompile(`^(.+)-([0-9]+)-[0-9a-f]+$`)

// parseID tells which experiment and seed a run's ID names.
func parseID(id string) (study experiments.Study, e experiments.Experiment, seed int, err error) {
	parts := idParts.FindStringSubmatch(id)
	if parts != nil {
		study, e, ok := experiments.StudyOf(parts[1])
		seed, err := strconv.Atoi(parts[2])
		if ok && err == nil && seed > 0 {
			return study, e, seed, nil
		}
	}
	return study, e, 0, fmt.Errorf("%q is no run's id: take one that ebssc plan prints", id)
}
