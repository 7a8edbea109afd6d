// Package reliability tests what users of ebssc rely on when things go wrong: processes that are killed, disks that are full,
// folders that cannot be written. Its tests run the built program; docs/reliability.md says what was tried, and how often.
package reliability
