#!/usr/bin/env bash
# Runs a study as a Slurm job array: its first argument is the number of shards N, the others are
# those of `ebssc run`. Task K trains shard K of N, whatever other tasks the array has. Submit it
# from the folder of a pack. See README.md beside this script.
#SBATCH --job-name=ebssc
#SBATCH --output=slurm-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --time=04:00:00
#SBATCH --cpus-per-task=4
#SBATCH --mem=24G
# A task whose node fails, or that is preempted, is queued again.
#SBATCH --requeue
# The program (not this script) gets SIGTERM 120 seconds before the time limit, enough to finish a training step and save.
#SBATCH --signal=TERM@120
set -euo pipefail

die() {
  echo "slurm.sh: $*" >&2
  exit 1
}

shards=${1:-}
[[ $shards =~ ^[1-9][0-9]{0,3}$ && $# -gt 1 ]] ||
  die "name the number of shards, then what to run: sbatch --array=1-15 slurm.sh 15 table"
shift
task=${SLURM_ARRAY_TASK_ID:-none}
[[ $task =~ ^[1-9][0-9]*$ && $task -le $shards ]] ||
  die "task $task is no shard of $shards: submit with --array=1-$shards, or with some of these"
[[ -x run.sh ]] || die "$PWD has no run.sh: submit from the folder of a pack"

status=0
srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-1}" ./run.sh "$@" --shard "$task/$shards" || status=$?
# This script outlives a program that saved at the time limit alone: cancelling or requeueing the
# task ends both. SLURM_JOB_ID of an array's last task would queue all tasks again.
if ((status == 143)); then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$task"
fi
exit "$status"
