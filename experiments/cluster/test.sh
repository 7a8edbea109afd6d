#!/usr/bin/env bash
# Tests the files in this folder as far as one machine goes: slurm.sh under a slurmctld and two
# slurmd of its own, with ten runs of which four are stopped, each in another way, and two submitted
# again, and kubernetes.yaml against the API's schema and by its command. The reports of the merged
# records must be those of one process that trains the same runs. Six minutes on two cores, 8 GB of
# memory.
#
#   experiments/cluster/test.sh [--data FOLDER]     # with CIFAR-10 and MNIST; else downloaded
#
# Needs what README.md names, and Slurm (installed here if you are root on Debian). Leaves nothing but those packages.
set -euo pipefail

SLURM_PACKAGES=(slurmctld slurmd slurm-client munge)
VALIDATOR=kubernetes-validate==1.37.0
OLDEST_KUBERNETES=1.29.0 # as kubernetes.yaml says
RUNS=10
EPOCHS=4 # of a run at profile smoke

PATH=$PATH:/usr/sbin # of slurmctld, slurmd and munged
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

die() {
  echo "test.sh: $*" >&2
  exit 1
}

[[ $# -eq 0 || ($# -eq 2 && $1 == --data) ]] || die "usage: test.sh [--data FOLDER]"
data=${2:-${EBSSC_DATA:-}}
unset EBSSC_DATA EBSSC_CACHE

# install_slurm installs Slurm where it is missing.
install_slurm() {
  if type -P slurmctld slurmd sbatch munged >/dev/null; then
    return
  fi
  if ((EUID != 0)) || ! type -P apt-get >/dev/null; then
    die "Slurm is needed: as root on Debian run apt-get install --no-install-recommends ${SLURM_PACKAGES[*]}"
  fi
  say "installing ${SLURM_PACKAGES[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${SLURM_PACKAGES[@]}" >/dev/null
}

tmp=$(mktemp -d)
chmod 711 "$tmp" # munged wants its socket within everybody's reach
pack=$tmp/pack
daemons=()
serial=
job=

# clean_up ends what was started, and removes what was made. After a failure it shows the logs first.
clean_up() {
  local status=$?
  trap - EXIT
  if [[ -n $job ]]; then
    scancel "$job" || true
    for ((i = 0; i < 40; i++)); do
      [[ -n $(squeue -h -j "$job" 2>/dev/null) ]] || break
      sleep 1
    done
  fi
  for process in $serial "${daemons[@]}"; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  if ((status != 0)); then
    tail -v -n 20 "$pack"/slurm-*.log "$tmp"/*.log >&2 2>/dev/null || true
    echo "test.sh: FAILED" >&2
  fi
  rm -rf "$tmp"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# eventually waits until a command succeeds, for so many seconds.
eventually() {
  local seconds=$1
  shift
  for ((i = 0; i < seconds * 5; i++)); do
    if "$@"; then
      return
    fi
    sleep 0.2
  done
  die "not within $seconds seconds: $*"
}

# start_slurm starts a cluster of two nodes of one processor each, all on this machine.
start_slurm() {
  local host user
  host=$(hostname -s)
  user=$(id -un)
  export SLURM_CONF=$tmp/slurm.conf
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26817
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.socket,cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=$tmp/state
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd-%n.pid
SlurmdSpoolDir=$tmp/spool-%n
MinJobAge=3600
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[26821-26822] CPUs=1 RealMemory=3000
PartitionName=test Nodes=ALL Default=YES
CONF
  head -c 128 /dev/urandom >"$tmp/munge.key"
  chmod 600 "$tmp/munge.key"
  mkdir "$tmp/state" "$tmp/spool-n1" "$tmp/spool-n2"
  munged --foreground --socket="$tmp/munge.socket" --key-file="$tmp/munge.key" --pid-file="$tmp/munged.pid" \
    --seed-file="$tmp/munged.seed" >"$tmp/munged.log" 2>&1 &
  daemons+=($!)
  eventually 30 test -S "$tmp/munge.socket"
  slurmctld -D >"$tmp/slurmctld.log" 2>&1 &
  daemons+=($!)
  for node in n1 n2; do
    slurmd -D -N "$node" >"$tmp/slurmd-$node.log" 2>&1 &
    daemons+=($!)
  done
  eventually 60 nodes_are_idle
}

nodes_are_idle() { [[ $(sinfo -h -o '%D %t' 2>/dev/null) == '2 idle' ]]; }

# submit queues the tasks of an array, of so many shards.
submit() {
  sbatch --parsable --array="$1" --cpus-per-task=1 --mem=3000 "$here/slurm.sh" "$2" "${choice[@]}"
}

# profile is the only folder of a profile in a folder of results: smoke, or with the official CIFAR-10 smoke-cifar10.
profile() { find "$1" -maxdepth 1 -name 'smoke*' 2>/dev/null; }

# log of a task.
log() { echo "$pack/slurm-${job}_$1.log"; }

# epochs is the number of epochs that a task has finished, as its log says.
epochs() { grep -cE ': epoch [0-9]+ of [0-9]+: ' "$(log "$1")"; }

# in_training says whether a task's run has a checkpoint and no record.
in_training() {
  local id
  id=$(sed -n '/: compiling /{s/.*: compiling //p;q}' "$(log "$1")" 2>/dev/null)
  [[ -n $id && -f $(profile "$pack/results")/checkpoints/$id.ckpt && ! -f $(profile "$pack/results")/runs/$id.json ]]
}

# shown is a value that Slurm shows of a task.
shown() { scontrol show job "${job}_$1" | sed -nE "s/.*\b$2=(\S+).*/\1/p"; }

# is says whether a task is in a state, restarted so often.
is() { [[ $(shown "$1" JobState) == "$2" && $(shown "$1" Restarts) -eq $3 ]]; }

# ended says whether all tasks have ended, successfully or not.
ended() {
  for ((task = 1; task <= RUNS; task++)); do
    [[ $(shown "$task" JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL)$ ]] || return 1
  done
}

# comparable copies the reports of a folder of results without times and cores, and without the manifest, whose checksums depend on them.
comparable() {
  mkdir "$2"
  cp -r "$(profile "$1")"/. "$2"
  rm -rf "$2/runs" "$2/checkpoints" "$2/networks" "$2/manifest.txt"
  python3 - "$2"/*.csv "$2/README.md" <<'PYTHON'
import csv, sys
UNLIKE = {"seconds", "finished", "cores"}
def without(rows):
    drop = [i for i, title in enumerate(rows[0]) if title.strip() in UNLIKE]
    return [[cell for i, cell in enumerate(row) if i not in drop] for row in rows]
for path in sys.argv[1:]:
    with open(path, newline="") as file:
        if path.endswith(".csv"):
            lines = [",".join(row) for row in without(list(csv.reader(file)))]
        else:
            lines, table = [], []
            for line in [*file.read().split("\n"), ""]:
                if line.startswith("|"):
                    table.append(line.split("|"))
                    continue
                lines += ["|".join(row) for row in (without(table) if table else [])] + [line]
                table = []
    with open(path, "w") as file:
        file.write("\n".join(lines))
PYTHON
}

# requires_records requires so many records in a folder of results.
requires_records() {
  local records=("$(profile "$1")"/runs/*.json)
  ((${#records[@]} == $2)) || die "${#records[@]} records in $1, not $2"
}

# requires_serial_reports copies the records and pictures of folders of results into a new one, whose reports must be those of the serial runs.
requires_serial_reports() {
  local merged=$1 folder results
  shift
  folder=$merged/$(basename "$(profile "$1")")
  mkdir -p "$folder"
  for results in "$@"; do
    cp -r "$(profile "$results")"/{runs,figures} "$folder"
  done
  ./ebssc report --results "$merged" >/dev/null
  ! grep -q ' of [0-9]* seed' "$folder/README.md" || die "the report of all records should miss no seed: $folder/README.md"
  comparable "$merged" "$merged-reports"
  diff -r "$tmp/serial-reports" "$merged-reports" >&2 || die "the merged reports are not those of the serial runs"
}

# words prints a list of the Job's container, and requires that each index has its shard.
words() {
  "$tmp/venv/bin/python" - "$here/kubernetes.yaml" "$1" <<'PYTHON'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))["spec"]
container = job["template"]["spec"]["containers"][0]
assert container["env"] == [{"name": "SHARDS", "value": str(job["completions"])}]
sys.stdout.write("".join(word + "\0" for word in container[sys.argv[2]]))
PYTHON
}

install_slurm
say "shared folder: a pack"
"$here/../offline/pack.sh" "$pack" ${data:+--data "$data"} 2>&1 | sed 's/^/    /'
cd "$pack"
choice=(table --profile smoke --seeds 2 --backend cpu)

say "serial: one process, one run after the other, at the same time as what follows"
./run.sh "${choice[@]}" --results "$tmp/serial" >"$tmp/serial.log" 2>&1 &
serial=$!

start_slurm
job=$(submit "1-$RUNS" "$RUNS")
say "Slurm: array $job on two nodes"

eventually 900 in_training 2
scontrol requeue "${job}_2"
say "task 2: requeued after epoch $(epochs 2) of $EPOCHS, as for another job that comes first"

eventually 900 in_training 4
kill -KILL "$(pgrep -f -- "^$pack/ebssc run .* --shard 4/$RUNS\$")"
say "task 4: program killed (kill -9) after epoch $(epochs 4) of $EPOCHS"
eventually 30 is 4 FAILED 0
[[ $(shown 4 ExitCode) == 137:0 ]] || die "task 4 ended with $(shown 4 ExitCode), not 137:0"
scontrol requeue "${job}_4"

eventually 900 in_training 9
scancel "${job}_9"
say "task 9: cancelled after epoch $(epochs 9) of $EPOCHS"

eventually 900 in_training "$RUNS" # the last task, whose SLURM_JOB_ID is that of the array
scancel --signal=TERM "$(shown "$RUNS" JobId).0"
say "task $RUNS: SIGTERM after epoch $(epochs "$RUNS") of $EPOCHS, as before the time limit"

eventually 1800 ended
is 9 CANCELLED 0 || die "task 9 was cancelled, and is $(shown 9 JobState)"
scontrol requeue "${job}_9"
eventually 900 is 9 COMPLETED 1
for ((task = 1; task <= RUNS; task++)); do
  restarts=0
  [[ $task =~ ^(2|4|9|$RUNS)$ ]] && restarts=1
  is "$task" COMPLETED "$restarts" || die "task $task is $(shown "$task" JobState), restarted $(shown "$task" Restarts) times, not $restarts"
  (($(epochs "$task") <= EPOCHS)) || die "task $task trained $(epochs "$task") epochs: its run has $EPOCHS, and did not go on from its checkpoint"
done
say "Slurm: all completed; tasks 2, 4, 9 and $RUNS were started twice, each other once;" \
  "no epoch was finished twice"

# Two tasks are submitted again, after one of them lost its record. A task that is no shard, and one
# that is not told their number, end in a line.
requires_records results "$RUNS"
whole=$job
lost=$(sed -n '/: compiling /{s/.*: compiling //p;q}' "$(log 3)")
mv "$(profile results)/runs/$lost.json" "$tmp"
job=$(submit 3,7 "$RUNS")
for task in 3 7; do
  eventually 900 is "$task" COMPLETED 0
done
requires_records results "$RUNS"
grep -q ': epoch ' "$(log 3)" || die "shard 3 should have trained its run again: $(log 3)"
! grep -q ': epoch ' "$(log 7)" || die "shard 7 should have trained nothing again: $(log 7)"
job=$(submit "$((RUNS + 1))" "$RUNS")
eventually 60 is "$((RUNS + 1))" FAILED 0
grep -q "^slurm.sh: task $((RUNS + 1)) is no shard of $RUNS: " "$(log "$((RUNS + 1))")" ||
  die "which task is wrong should be said"
job=$(sbatch --parsable --array=1 --cpus-per-task=1 --mem=3000 "$here/slurm.sh" "${choice[@]}")
eventually 60 is 1 FAILED 0
grep -q '^slurm.sh: name the number of shards' "$(log 1)" ||
  die "that the number of shards is missing should be said"
job=$whole
say "Slurm: --array=3,7 ran shards 3 and 7 of $RUNS again; other tasks ended in a line"

wait "$serial" || die "the serial runs failed"
serial=
comparable "$tmp/serial" "$tmp/serial-reports"
requires_records results "$RUNS"
requires_serial_reports "$tmp/merged" results
say "merged: tables, claims, curves and figures are those of the serial runs, byte for byte but for times and cores"

say "Kubernetes: kubernetes.yaml against the API's schema"
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/python" -E "$here/../../internal/cache/runpip.py" install \
  --quiet --disable-pip-version-check --no-input "$VALIDATOR"
for version in "$OLDEST_KUBERNETES" "${VALIDATOR##*==}"; do
  "$tmp/venv/bin/kubernetes-validate" --strict --kubernetes-version "$version" "$here/kubernetes.yaml" | sed 's/^/    /'
done
mapfile -d '' -t container < <(words command)
mapfile -d '' -t arguments < <(words args)
./run.sh "${arguments[@]}" --help >/dev/null
mkdir "$tmp/volume"
ln -s "$pack"/* "$tmp/volume"
rm "$tmp/volume/results"
cd "$tmp/volume"
for index in 0 $((RUNS - 1)); do
  env -i PATH=/usr/bin:/bin SHARDS=$RUNS JOB_COMPLETION_INDEX=$index "${container[@]}" "${choice[@]}" >"$tmp/index-$index.log" 2>&1
done
requires_records results 2
./ebssc report >/dev/null
grep -q '| 0 of 1 |' "$(profile results)/README.md" || die "the report of two records should say which rows have none"
requires_serial_reports "$tmp/both" "$pack/results" results
say "Kubernetes: the container's command trained shards 1 and $RUNS, with the serial runs' results"
say "passed in $SECONDS seconds"
