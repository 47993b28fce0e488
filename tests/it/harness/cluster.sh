# Runs a throwaway PostgreSQL for as long as somebody holds our standard input. The kernel closes that pipe however the
# test process ends, so neither a panic nor a kill leaves a server or its files behind.
#
# $1 is the folder of the programs, $2 is fast, durable, node or measured, the other arguments are ports to try. Standard output
# gets "ready PORT", or the reasons why there is none. For a line "kill" on standard input the server is killed with all its
# processes, which "killed" answers; for "start" it is started again, with one more "ready PORT".
set -u
exec 2>&1
# Ctrl-C reaches the whole process group, but the way out is the pipe: it cleans up.
trap '' HUP INT PIPE TERM
umask 077

bin=$1
kind=$2
shift 2
# In memory where there is room: a database is some 300 files, and copying them is four times as fast there.
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${room:-0}" -gt 3000000 ]; then memory=/dev/shm; else memory=/tmp; fi
dir=$(mktemp -d "${TMPDIR:-$memory}/card-payments-postgres.XXXXXX" 2>/dev/null) ||
    dir=$(mktemp -d /tmp/card-payments-postgres.XXXXXX) || exit 1
stop() {
    "$bin/pg_ctl" stop -D "$dir/data" -m immediate </dev/null >/dev/null 2>&1
    rm -rf "$dir"
}
trap stop EXIT

init() {
    "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale="$1" --no-sync </dev/null >>"$dir/log" 2>&1
}
# Not every system has C.UTF-8, and under C pg_trgm sees ASCII letters only.
init C.UTF-8 || init C || { cat "$dir/log"; exit 1; }

cat >>"$dir/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
CONF
# The odd time zone finds SQL that relies on the server's. What is measured has PostgreSQL's own settings.
[ "$kind" = measured ] || cat >>"$dir/data/postgresql.conf" <<CONF
max_connections = 400
shared_buffers = 64MB
wal_level = minimal
max_wal_senders = 0
max_wal_size = 256MB
checkpoint_timeout = 1h
autovacuum = off
jit = off
timezone = 'Pacific/Auckland'
CONF
# Nothing of a fast one outlives a process, so nothing is flushed.
[ "$kind" != fast ] || cat >>"$dir/data/postgresql.conf" <<CONF
fsync = off
synchronous_commit = off
full_page_writes = off
CONF
# Shards move by logical replication, and a commit on two nodes is prepared on both.
[ "$kind" != node ] || cat >>"$dir/data/postgresql.conf" <<CONF
shared_preload_libraries = 'citus'
citus.shard_count = 4
wal_level = logical
max_wal_senders = 10
max_worker_processes = 16
max_prepared_transactions = 400
CONF
start() {
    "$bin/pg_ctl" start -w -t 60 -D "$dir/data" -l "$dir/log" -o "-p $1" </dev/null >/dev/null 2>&1
}

for port in "$@"; do
    if start "$port"; then
        echo "ready $port"
        while read -r order; do
            if [ "$order" = kill ]; then
                postmaster=$(head -n 1 "$dir/data/postmaster.pid")
                # The children first: they would notice, and end tidily.
                pkill -KILL -P "$postmaster" 2>/dev/null
                kill -KILL "$postmaster"
                echo killed
            else
                until start "$port"; do sleep 0.1; done
                echo "ready $port"
            fi
        done
        exit 0
    fi
done
cat "$dir/log"
exit 1
