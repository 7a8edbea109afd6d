#!/usr/bin/env bash
# Runs a study as a Slurm job array: its arguments are those of `ebssc run`, and task K of --array=1-N trains shard K of N. Submit
# it from the folder of a pack. See README.md beside this script.
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

status=0
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" ./run.sh "$@" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" || status=$?
# This script outlives a program that saved at the time limit alone: cancelling or requeueing the task ends both.
if ((status == 143)); then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
