package device

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// xlaFlags is the environment variable that XLA reads once. checkedChoice is the one that makes a
// program start a backend and end: it holds the [Choice] in JSON.
const xlaFlags, checkedChoice = "XLA_FLAGS", "EBSSC_CHECKED_CHOICE"

func init() {
	text := os.Getenv(checkedChoice)
	if text == "" {
		return
	}
	var c Choice
	if json.Unmarshal([]byte(text), &c) == nil {
		c.file = os.NewFile(3, c.Plugin)
		c.start() // an error is none of the flags
	}
	os.Exit(0)
}

// addFlag adds a flag to XLA_FLAGS if the user has not set it. The variable may name a file
// instead, which is an error.
func addFlag(flag, value string) error {
	set := strings.TrimSpace(os.Getenv(xlaFlags))
	switch {
	case strings.Contains(set, flag):
		return nil
	case set != "" && !strings.HasPrefix(set, "-"):
		return fmt.Errorf("%s names a file, and %s has to be added: put the file's flags into the "+
			"variable itself", xlaFlags, flag)
	}
	return os.Setenv(xlaFlags, strings.TrimSpace(set+" "+flag+"="+value))
}

// preferWideVectors lets XLA use vectors of 512 bits.
func preferWideVectors() error { return addFlag("--xla_cpu_prefer_vector_width", "512") }

// computesWide reports whether the CPU is of AMD's Zen 5 family or later. It computes such vectors
// in one piece (but in laptops, which were not measured). There a training step in float32 takes
// 0.90 to 0.96 of its time with them (CReLU+LC₇ and SSC+EBC₆₋₇, widths 16 to 96), and an inference
// as long as before. On an Intel Xeon neither gained.
func computesWide() bool {
	return cpuid.CPU.VendorID == cpuid.AMD && cpuid.CPU.Family >= 26 && cpuid.CPU.Has(cpuid.AVX512F)
}

// accepted holds the plugins that have taken the flags, as XLA reads them once.
var accepted sync.Map

// checkFlags returns an error if the plugin of a choice refuses a flag in XLA_FLAGS. XLA would end
// the process then, with pages of its own, so another process tries. That costs half a second where
// the variable is set, and nothing elsewhere.
func checkFlags(ctx context.Context, c Choice) error {
	flags := os.Getenv(xlaFlags)
	if _, again := accepted.Load(c.Plugin); again || flags == "" || c.Plugin == "" {
		return nil
	}
	if c.accepts(ctx, flags) || !c.accepts(ctx, "") {
		accepted.Store(c.Plugin, true)
		return ctx.Err()
	}
	refused := flags
	for _, flag := range strings.Fields(flags) {
		if !c.accepts(ctx, flag) {
			refused = flag
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%s has %q, which this XLA does not know or cannot read: "+
		"take it out, or unset %[1]s", xlaFlags, refused)
}

// accepts reports whether a process with these flags lives through the start of the backend.
func (c Choice) accepts(ctx context.Context, flags string) bool {
	text, err := json.Marshal(c)
	program, missing := os.Executable()
	if err != nil || missing != nil {
		return true
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), checkedChoice+"="+string(text), xlaFlags+"="+flags)
	cmd.WaitDelay = time.Second
	if c.file != nil {
		cmd.ExtraFiles = []*os.File{c.file}
	}
	return !errors.As(cmd.Run(), new(*exec.ExitError))
}
