package report

import (
	"fmt"
	"strings"

	"ebsscgo/experiments"
)

// terminalColumns are those of a table's rows on a terminal.
var terminalColumns = Columns[Row]{
	{Heading: "model", Cell: func(r Row) string { return r.Experiment.Title }},
	withStd[Row]("train err. %", 2, trainErr), withStd[Row]("test err. %", 2, testErr),
	{Heading: "paper", Cell: func(r Row) string { return percent(known(r.Paper.TestErr)) }},
	{Heading: "minus", Cell: Row.baseTitle},
	{Heading: "points (95 % interval)", Cell: Row.deltaText},
}

// sweepsTerminalColumns are those of a study of sweeps.
var sweepsTerminalColumns = Columns[Row]{
	{Heading: "sweeps", Cell: func(r Row) string { return r.Experiment.Title }},
	withStd[Row]("train loss", 4, trainLoss), withStd[Row]("train err. %", 2, trainErr), withStd[Row]("test err. %", 2, testErr),
	{Heading: "paper", Cell: func(r Row) string { return percent(known(r.Paper.TestErr)) }},
}

// baseTitle is the base's title where the row is compared with it.
func (r Row) baseTitle() string {
	if !r.Compared() {
		return ""
	}
	return r.Base.Title
}

// Text is a study for a terminal, in its first setting; it is empty where nothing of the profile's own is recorded.
func (p *Profile) Text(study experiments.Study) (string, error) {
	if len(p.settings[study.Name]) == 0 {
		return "", nil
	}
	setting := p.settings[study.Name][0]
	title := fmt.Sprintf("%s, %s, profile %s\n", study.Name, datasetTitle(setting.Dataset), p.Name)
	if study.Report != experiments.Decodings {
		rows, err := p.Rows(study, setting)
		if err != nil {
			return "", err
		}
		columns := terminalColumns
		if study.Report == experiments.Sweeps {
			columns = sweepsTerminalColumns
		}
		return title + columns.Text(rows), nil
	}
	var text strings.Builder
	text.WriteString(title)
	for _, e := range study.Experiments {
		decoded := setting.Groups[e.Name].decoded()
		if len(decoded) == 0 {
			continue
		}
		pairs, err := p.fidelityPairs(study, decoded)
		if err != nil {
			return "", err
		}
		text.WriteString(e.Title + "\n" + fidelityColumns.Text(pairs))
	}
	return text.String(), nil
}
