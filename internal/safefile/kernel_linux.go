package safefile

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// kernels are the file systems whose files the kernel makes as they are read: they have no size
// beforehand, and some make their reader wait.
var kernels = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
	unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC,
	unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC, unix.SELINUX_MAGIC, unix.BINFMTFS_MAGIC,
	unix.DEVPTS_SUPER_MAGIC,
}

// ofKernel reports whether an open file or folder is of /proc, /sys and the like, and of no disk.
func ofKernel(file *os.File) (of bool) {
	conn, err := file.SyscallConn() // as Fd would make it blocking
	if err != nil {
		return false
	}
	conn.Control(func(fd uintptr) {
		var disk unix.Statfs_t
		of = unix.Fstatfs(int(fd), &disk) == nil && slices.Contains(kernels, int64(disk.Type))
	})
	return of
}
