#!/usr/bin/env bash
# Carries out a plan as a Slurm job array: task K does line K of plan.jsonl in the folder from which it is submitted, a pack.
# See README.md beside this script.
#SBATCH --job-name=ebssc
#SBATCH --output=slurm-%A_%a.log
#SBATCH --open-mode=append
#SBATCH --time=04:00:00
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
# A task whose node fails, or that makes room for another, is queued again.
#SBATCH --requeue
# Before the time limit the program (not this script) is told to save: seconds enough to finish a training step.
#SBATCH --signal=TERM@120
set -euo pipefail
export EBSSC_CACHE=$PWD/cache

status=0
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" ./ebssc run --plan plan.jsonl --line "$SLURM_ARRAY_TASK_ID" || status=$?
# Only at the time limit does this script outlive a program that saved: whoever cancels or requeues the task ends both.
if ((status == 143)); then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
