#!/usr/bin/env bash
# Tests the files in this folder as far as one machine goes: slurm.sh under a slurmctld and two slurmd of its own, with ten runs
# of which some are stopped in each way that there is, and kubernetes.yaml against the API's schema and by its command. What comes
# of them must be what one process makes of the same runs. About ten minutes on two cores, 8 GB of memory.
#
#   experiments/cluster/test.sh [--data FOLDER]     # CIFAR-10 (or $EBSSC_DATA); else downloaded, else MNIST in its place
#
# Needs what README.md names, and Slurm (installed here if you are root on Debian). Leaves nothing but those packages.
set -euo pipefail

SLURM_PACKAGES=(slurmctld slurmd slurm-client munge)
VALIDATOR=kubernetes-validate==1.37.0
OLDEST_KUBERNETES=1.29.0 # of which kubernetes.yaml speaks

PATH=$PATH:/usr/sbin # where slurmctld, slurmd and munged are
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

say() { printf '%s  %s\n' "$(date +%T)" "$*"; }

die() {
  echo "test.sh: $*" >&2
  exit 1
}

[[ $# -eq 0 || ($# -eq 2 && $1 == --data) ]] || die "usage: test.sh [--data FOLDER]"
data=${2:-${EBSSC_DATA:-}}
unset EBSSC_DATA EBSSC_CACHE

# install_slurm makes sure that Slurm is there.
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
job=

# clean_up ends what was started, and removes what was made. After a failure it shows the tasks' logs first.
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
  if ((${#daemons[@]})); then
    kill "${daemons[@]}" 2>/dev/null || true
    wait "${daemons[@]}" 2>/dev/null || true
  fi
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

# eventually waits for a command to succeed, for so many seconds.
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

# in_training says whether the run of a line of the plan has finished an epoch and is in a further one.
in_training() {
  local run=$pack/results/smoke/runs/${ids[$1 - 1]}
  [[ -f $run/curve.csv && ! -f $run/result.json && $(wc -l <"$run/curve.csv") -ge 2 ]]
}

# shown prints a value that Slurm shows of a task.
shown() { scontrol show job "${job}_$1" | sed -nE "s/.*\b$2=(\S+).*/\1/p"; }

# is says whether a task is in a state, restarted so often.
is() { [[ $(shown "$1" JobState) == "$2" && $(shown "$1" Restarts) -eq $3 ]]; }

# ended says whether all tasks have ended, in whatever way.
ended() {
  for ((task = 1; task <= ${#ids[@]}; task++)); do
    [[ $(shown "$task" JobState) =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|OUT_OF_MEMORY|NODE_FAIL)$ ]] || return 1
  done
}

# comparable copies the reports of a folder of results without the times that they tell.
comparable() {
  cp -r "$1/smoke" "$2"
  rm -rf "$2/runs"
  find "$2" \( -name '*.md' -o -name '*.html' \) -exec sed -i -E 's/ in [0-9]+ s\b//g' {} +
  sed -i -E 's/,[0-9]+(,[^,]*)$/\1/' "$2/table.csv"                # the last column but one
  sed -i -E '2,$ s/^(([^,]*,){4})[0-9.]+/\1/' "$2"/curves/*.csv # the fifth
}

# merge adds a folder of results to another, which must then be said to have come out so.
merge() {
  local said
  said=$("$pack/ebssc" report --results "$2" --merge "$1")
  if [[ $said != "$3"* || $said =~ $'\n'(missing|inconsistent|unfinished) ]]; then
    die "merging $1 into $2 should have said '$3' and nothing of missing runs, and said: $said"
  fi
}

install_slurm
say "shared folder: a pack, and a plan of ten runs"
"$here/../offline/pack.sh" "$pack" ${data:+--data "$data"} 2>&1 | sed 's/^/    /'
cd "$pack"
export EBSSC_CACHE=$pack/cache
choice=(table --profile smoke --seeds 2 --epochs 3 --backend cpu ${data:+--data data})
./ebssc plan "${choice[@]}" >plan.jsonl 2>plan.log
mapfile -t ids < <(sed -E 's/^\{"id":"([^"]+)".*/\1/' plan.jsonl)
((${#ids[@]} == 10)) || die "a plan of ${#ids[@]} runs, not 10"

say "serial: one process, one run after the other"
./ebssc run "${choice[@]}" --results "$tmp/serial" >"$tmp/serial.log" 2>&1

start_slurm
job=$(sbatch --parsable --array=1-10 --cpus-per-task=1 --mem=3000 "$here/slurm.sh")
say "Slurm: array $job on two nodes"

eventually 900 in_training 2
scontrol requeue "${job}_2"
say "task 2: requeued after its epoch $(($(wc -l <"results/smoke/runs/${ids[1]}/curve.csv") - 1)) of 3, as for another job that comes first"

eventually 900 in_training 4
kill -KILL "$(pgrep -f -- "^$pack/\./ebssc run --plan plan\.jsonl --line 4\$")"
say "task 4: program killed (kill -9) after its epoch $(($(wc -l <"results/smoke/runs/${ids[3]}/curve.csv") - 1)) of 3"
eventually 30 is 4 FAILED 0
[[ $(shown 4 ExitCode) == 137:0 ]] || die "task 4 ended with $(shown 4 ExitCode), not 137:0"
scontrol requeue "${job}_4"

eventually 900 in_training 7
scancel --signal=TERM "$(shown 7 JobId).0"
say "task 7: SIGTERM after its epoch $(($(wc -l <"results/smoke/runs/${ids[6]}/curve.csv") - 1)) of 3, as before the time limit"

eventually 900 in_training 9
scancel "${job}_9"
say "task 9: cancelled after its epoch $(($(wc -l <"results/smoke/runs/${ids[8]}/curve.csv") - 1)) of 3"

eventually 1800 ended
is 9 CANCELLED 0 || die "task 9 was cancelled, and is $(shown 9 JobState)"
scontrol requeue "${job}_9"
eventually 900 is 9 COMPLETED 1
for ((task = 1; task <= 10; task++)); do
  restarts=0
  [[ $task =~ ^(2|4|7|9)$ ]] && restarts=1
  is "$task" COMPLETED "$restarts" || die "task $task is $(shown "$task" JobState), restarted $(shown "$task" Restarts) times, not $restarts"
done
say "Slurm: all completed; tasks 2, 4, 7 and 9 were started twice, each other once"

merge results "$tmp/merged" '10 runs added, 0 were there with the same result'
comparable "$tmp/serial" "$tmp/serial-reports"
comparable "$tmp/merged" "$tmp/merged-reports"
diff -r "$tmp/serial-reports" "$tmp/merged-reports" >&2 || die "the merged reports are not those of the serial runs"
merge "$tmp/merged" "$tmp/serial" '0 runs added, 10 were there with the same result'
say "merged: tables, ledger, curves and figures are those of the serial runs, byte for byte but for seconds"

say "Kubernetes: kubernetes.yaml against the API's schema"
python3 -m venv "$tmp/venv"
"$tmp/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$VALIDATOR"
for version in "$OLDEST_KUBERNETES" "${VALIDATOR##*==}"; do
  "$tmp/venv/bin/kubernetes-validate" --strict --kubernetes-version "$version" "$here/kubernetes.yaml" | sed 's/^/    /'
done
mapfile -d '' -t container < <("$tmp/venv/bin/python" - "$here/kubernetes.yaml" <<'PYTHON'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
sys.stdout.write("".join(word + "\0" for word in job["spec"]["template"]["spec"]["containers"][0]["command"]))
PYTHON
)
mkdir "$tmp/volume"
ln -s "$pack"/* "$tmp/volume"
rm "$tmp/volume/results"
cd "$tmp/volume"
for index in 0 9; do
  env -i PATH=/usr/bin:/bin JOB_COMPLETION_INDEX=$index "${container[@]}" >"$tmp/index-$index.log" 2>&1
done
merge results "$tmp/merged" '0 runs added, 2 were there with the same result'
say "Kubernetes: the container's command did indices 0 and 9 (lines 1 and 10), with the serial runs' results"
say "passed in $SECONDS seconds"
