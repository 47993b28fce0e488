/* A machine that a seed decides: one thread of the process runs at a time, which one is drawn, and time passes only while none can run.
 * These functions stand before those of the C library, which the standard library and tokio call: threads, waits, clocks, random bytes,
 * flushes, and sockets, which become local ones within the process. Before machine_start everything is as ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* The C library's own function. */
#define REAL(name) ({ static __typeof__(&name) real; real = real ? real : (__typeof__(&name))dlsym(RTLD_NEXT, #name); real; })
#define NEVER UINT64_MAX
#define SECOND 1000000000ull
#define GROUPS 64
#define FILES 65536
/* Seconds after which a history ends that does not end by itself. */
#define TOO_LONG 900
/* What a look at the clock costs, so that no loop lasts for ever without time passing. */
#define LOOK 100

enum state { READY, WAITING, ENDED };

/* A thread, and what it waits for. */
struct thread {
    struct thread *next;
    pthread_t handle;
    /* The server that it belongs to; 0 is the world around them. */
    int group;
    enum state state;
    uint64_t deadline;
    const void *address;
    int epoll;
    const struct thread *joined;
    int is_woken;
    /* Set when it is this thread's turn. */
    uint32_t turn;
    /* How often the C library has called its destructors. */
    int rounds;
    void *(*start)(void *);
    void *argument;
};

/* Messages of PostgreSQL's protocol as they pass: a letter, but for the first one, and a length. */
struct stream {
    uint8_t head[5];
    unsigned there;
    uint32_t left;
    int has_letters;
};

/* An open file: a socket, or one that its server has locked. */
struct file {
    int is_inet, is_locked, group;
    uint16_t port, peer;
    /* A connection to a real database, and how many answers it owes. */
    int is_real, owes;
    struct stream out, in;
};

/* The ports of clients that wait to be accepted, in the order in which the system hands them out. */
struct listener {
    uint16_t port, waiting[8192];
    unsigned first, last;
};

static __thread struct thread *self;
static struct thread *threads;
static pthread_key_t ends;
static uint64_t now, schedule, entropy, switches;
static int64_t wall;
static int64_t wrong_by[GROUPS];
static uint64_t paused_until[GROUPS];
static struct file files[FILES];
static struct listener listeners[256];
static int listening;
static uint16_t next_port = 20000;
/* A thread that has had its last turn, by the kernel's number, and still frees its memory. */
static pid_t leaving;
/* The port of a real database, the highest of its connections, and whether it was spoken to since it last had time. */
static uint16_t database;
static int last_real = -1, is_fresh;

static uint64_t draw(uint64_t *stream) {
    uint64_t mixed = *stream += 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
}

static uint64_t below(uint64_t bound) { return draw(&schedule) % bound; }

static long kernel(long number, long a, long b, long c, long d) {
    return REAL(syscall)(number, a, b, c, d, 0, 0);
}

/* Turns. */

static void hand_over(struct thread *next) {
    __atomic_store_n(&next->turn, 1, __ATOMIC_SEQ_CST);
    kernel(SYS_futex, (long)&next->turn, FUTEX_WAKE_PRIVATE, 1, 0);
}

static void await_turn(struct thread *it) {
    while (!__atomic_load_n(&it->turn, __ATOMIC_SEQ_CST))
        kernel(SYS_futex, (long)&it->turn, FUTEX_WAIT_PRIVATE, 0, 0);
    __atomic_store_n(&it->turn, 0, __ATOMIC_SEQ_CST);
    /* What a thread frees after its last turn is free from now on, in every run: the kernel forgets its number when it is gone. */
    for (; leaving && !kernel(SYS_tgkill, getpid(), leaving, 0, 0); kernel(SYS_sched_yield, 0, 0, 0, 0)) {}
    leaving = 0;
}

static int is_ready(const struct thread *it) {
    if (it->state == READY || it->deadline <= now) return 1;
    if (it->joined) return it->joined->state == ENDED;
    struct pollfd events = { it->epoll, POLLIN, 0 };
    return it->epoll >= 0 && REAL(poll)(&events, 1, 0) > 0;
}

static void stuck(void) {
    fprintf(stderr, "nothing runs any more, and nothing waits for a time: %.3f s\n", (double)now / SECOND);
    for (struct thread *it = threads; it; it = it->next)
        fprintf(stderr, "  a thread of %d waits for %s\n", it->group, it->epoll >= 0 ? "files" : it->joined ? "a thread" : "a lock");
    _exit(86);
}

/* How fast time passes while a database owes an answer, which may itself wait for another thread of the machine; and how long what it
 * has not been asked for may take, in milliseconds of the system's clock: longer if nothing else can go on. */
#define RATE 20
#define PATIENCE 5
#define LAST_PATIENCE 20000

/* Lets a real database work, for whose answers threads wait; returns the time until which this one may pass. */
static uint64_t let_database_work(uint64_t until) {
    struct pollfd waiting[256];
    unsigned count = 0, owed = 0;
    for (int file = 0; file <= last_real && count < 256; file++) {
        struct file *it = &files[file];
        struct pollfd events = { file, POLLIN, 0 };
        /* What has come already waits for a server that pauses. */
        if (!it->is_real || REAL(poll)(&events, 1, 0)) continue;
        waiting[count++] = events, owed += it->owes > 0;
    }
    int is_last = until == NEVER && !owed;
    if (!count || !(owed || is_fresh || is_last)) return until;
    is_fresh = 0;
    if (REAL(poll)(waiting, count, is_last ? LAST_PATIENCE : PATIENCE) > 0) return now;
    uint64_t soon = now + RATE * PATIENCE * 1000000ull;
    return owed && soon < until ? soon : until;
}

/* Draws the next thread; lets time pass if none can run. */
static struct thread *choose(void) {
    for (;;) {
        struct thread *ready[1024];
        unsigned count = 0;
        uint64_t first = NEVER;
        for (struct thread *it = threads; it; it = it->next) {
            uint64_t from = paused_until[it->group];
            int can_run = is_ready(it);
            if (can_run && from <= now && count < 1024) ready[count++] = it;
            else if (can_run && from < first) first = from;
            else if (!can_run && it->deadline != NEVER) {
                uint64_t at = it->deadline > from ? it->deadline : from;
                if (at < first) first = at;
            }
        }
        if (count) return ready[count == 1 ? 0 : below(count)];
        uint64_t until = let_database_work(first);
        if (until == NEVER) stuck();
        now = until;
    }
}

static void yield_turn(void) {
    int error = errno;
    struct thread *it = self, *next = choose();
    if (next != it) {
        switches++;
        hand_over(next);
        await_turn(it);
    }
    errno = error;
}

/* Waits for one of these; returns whether the thread was woken. */
static int wait_for(uint64_t deadline, const void *address, int epoll, const struct thread *joined) {
    struct thread *it = self;
    it->deadline = deadline, it->address = address, it->epoll = epoll, it->joined = joined;
    it->is_woken = 0, it->state = WAITING;
    yield_turn();
    it->state = READY, it->deadline = NEVER, it->address = NULL, it->epoll = -1, it->joined = NULL;
    return it->is_woken;
}

static void sleep_for(uint64_t nanos) { wait_for(now + nanos, NULL, -1, NULL); }

/* Now and then another thread runs first. */
static void preempt(void) {
    if (self && below(8) == 0) yield_turn();
}

static int wake(const void *address, int most) {
    int woken = 0;
    while (woken < most) {
        struct thread *waiting[1024];
        unsigned count = 0;
        for (struct thread *it = threads; it; it = it->next)
            if (it->state == WAITING && it->address == address && count < 1024) waiting[count++] = it;
        if (!count) break;
        struct thread *it = waiting[below(count)];
        it->state = READY, it->is_woken = 1, woken++;
    }
    return woken;
}

static void leave(struct thread *it) {
    struct thread **link = &threads;
    while (*link && *link != it) link = &(*link)->next;
    if (*link) *link = it->next;
}

/* Whether addresses are the same in every process: some hashes begin with one. */
static int repeats;

int machine_repeats(void) { return repeats; }

__attribute__((constructor)) static void fix_addresses(int count, char **arguments, char **environment) {
    (void)count;
    int persona = personality(0xffffffff);
    repeats = persona >= 0 && persona & ADDR_NO_RANDOMIZE;
    if (persona < 0 || repeats || personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0) return;
    execve("/proc/self/exe", arguments, environment);
}

/* Called by the simulation. */

void machine_start(uint64_t seed, int64_t wall_nanos) {
    static struct thread first = { .deadline = NEVER, .epoll = -1 };
    schedule = seed, entropy = ~seed, wall = wall_nanos;
    now = SECOND;
    first.handle = pthread_self();
    extern void machine_ends(void *);
    pthread_key_create(&ends, machine_ends);
    threads = self = &first;
    /* By the system's own clock, which no thread of the machine sees. */
    alarm(TOO_LONG);
}

uint64_t machine_now(void) { return now; }
uint64_t machine_switches(void) { return switches; }
/* The thread, and those that it starts, belong to a server. */
void machine_belong(int group) { if (self) self->group = group; }
/* Connections to this port are real ones, to a database beside the machine: time passes slowly while it works. */
void machine_admit(int port) { database = (uint16_t)port; }
/* The clock on a server's wall is wrong by so much. */
void machine_set_wall(int group, int64_t nanos) { wrong_by[group] = nanos; }
void machine_pause(int group, uint64_t nanos) { paused_until[group] = now + nanos; }

/* A server's threads stop for ever where they are, and the system closes its sockets and unlocks its files. */
void machine_kill(int group) {
    for (struct thread **link = &threads; *link;) {
        struct thread *it = *link;
        if (it->group != group) {
            link = &it->next;
            continue;
        }
        *link = it->next;
        /* It was woken in vain: a lock of the whole process has others who wait for it. */
        if (it->is_woken && it->address) wake(it->address, 1);
    }
    for (int file = 0; file < FILES; file++) {
        if (files[file].group != group) continue;
        if (files[file].is_locked) REAL(flock)(file, LOCK_UN);
        if (files[file].is_inet) close(file), is_fresh = 1;
    }
}

/* Threads. */

void machine_ends(void *argument) {
    struct thread *it = argument;
    /* Other destructors that the C library calls come first. */
    if (++it->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && !pthread_setspecific(ends, it)) return;
    it->state = ENDED;
    leave(it);
    self = NULL;
    switches++;
    leaving = (pid_t)kernel(SYS_gettid, 0, 0, 0, 0);
    hand_over(choose());
}

static void *run(void *argument) {
    struct thread *it = argument;
    await_turn(it);
    self = it;
    pthread_setspecific(ends, it);
    return it->start(it->argument);
}

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    if (!self) return REAL(pthread_create)(handle, attributes, start, argument);
    struct thread *it = calloc(1, sizeof *it), **link = &threads;
    it->start = start, it->argument = argument, it->group = self->group, it->deadline = NEVER, it->epoll = -1;
    int failed = REAL(pthread_create)(handle, attributes, run, it);
    if (failed) return failed;
    it->handle = *handle;
    while (*link) link = &(*link)->next;
    *link = it;
    return 0;
}

int pthread_join(pthread_t handle, void **result) {
    for (struct thread *it = self ? threads : NULL; it; it = it->next)
        if (pthread_equal(it->handle, handle)) {
            wait_for(NEVER, NULL, -1, it);
            break;
        }
    return REAL(pthread_join)(handle, result);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!self) return REAL(pthread_mutex_lock)(mutex);
    int failed;
    while ((failed = pthread_mutex_trylock(mutex)) == EBUSY) wait_for(NEVER, mutex, -1, NULL);
    return failed;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int failed = REAL(pthread_mutex_unlock)(mutex);
    if (self) wake(mutex, 1);
    return failed;
}

int sched_yield(void) {
    if (!self) return REAL(sched_yield)();
    now += LOOK;
    yield_turn();
    return 0;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *processors) {
    if (!self) return REAL(sched_getaffinity)(process, size, processors);
    CPU_ZERO_S(size, processors);
    CPU_SET_S(0, size, processors);
    CPU_SET_S(1, size, processors);
    return 0;
}

/* Waits. */

static uint64_t nanos(const struct timespec *time) { return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec; }

static int64_t wall_now(void) { return wall + (int64_t)now + wrong_by[self->group]; }

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *time) {
    int command = operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
    if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET) {
        int woken = wake(word, (int)value);
        preempt();
        return woken;
    }
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return errno = EAGAIN, -1;
    uint64_t deadline = NEVER;
    if (time && command == FUTEX_WAIT) deadline = now + nanos(time);
    else if (time && operation & FUTEX_CLOCK_REALTIME) {
        int64_t left = (int64_t)nanos(time) - wall_now();
        deadline = now + (left > 0 ? (uint64_t)left : 0);
    } else if (time) deadline = nanos(time);
    if (wait_for(deadline, word, -1, NULL)) return 0;
    return errno = ETIMEDOUT, -1;
}

static void fill(uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at += 8) {
        uint64_t drawn = draw(&entropy);
        memcpy(bytes + at, &drawn, count - at < 8 ? count - at : 8);
    }
}

/* A call that would wait, or look at a clock, outside of the machine: the history would not repeat. */
static void unknown(const char *name) {
    fprintf(stderr, "the machine does not know %s\n", name);
    _exit(86);
}

static int is_wait(long number) {
    static const long waits[] = {
        SYS_futex, SYS_futex_waitv, SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_nanosleep, SYS_clock_nanosleep,
        SYS_clock_gettime, SYS_gettimeofday, SYS_io_uring_enter, SYS_timerfd_settime, SYS_fsync, SYS_fdatasync, SYS_flock,
        /* Those that newer processors have no more. */
#ifdef SYS_poll
        SYS_poll, SYS_select, SYS_epoll_wait, SYS_time,
#endif
    };
    for (unsigned n = 0; n < sizeof waits / sizeof *waits; n++)
        if (waits[n] == number) return 1;
    return 0;
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
    long e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (self && number == SYS_futex) {
        int command = (int)b & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
        if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET)
            return futex((uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d);
    }
    if (self && number == SYS_getrandom) return fill((uint8_t *)a, (size_t)b), b;
    if (self && is_wait(number)) unknown("syscall");
    return REAL(syscall)(number, a, b, c, d, e, f);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int milliseconds) {
    if (!self) return REAL(epoll_wait)(epoll, events, most, milliseconds);
    yield_turn();
    uint64_t deadline = milliseconds < 0 ? NEVER : now + (uint64_t)milliseconds * 1000000;
    for (;;) {
        int count = REAL(epoll_wait)(epoll, events, most, 0);
        if (count || milliseconds == 0 || deadline <= now) return count;
        wait_for(deadline, NULL, epoll, NULL);
    }
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    if (!self) return REAL(clock_nanosleep)(clock, flags, time, left);
    int64_t at = (int64_t)nanos(time);
    if (!(flags & TIMER_ABSTIME)) at += (int64_t)now;
    else if (clock == CLOCK_REALTIME) at -= wall_now() - (int64_t)now;
    wait_for(at > 0 ? (uint64_t)at : 0, NULL, -1, NULL);
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    if (!self) return REAL(nanosleep)(time, left);
    return sleep_for(nanos(time)), 0;
}

int usleep(useconds_t micros) {
    if (!self) return REAL(usleep)(micros);
    return sleep_for((uint64_t)micros * 1000), 0;
}

unsigned sleep(unsigned seconds) {
    if (!self) return REAL(sleep)(seconds);
    return sleep_for(seconds * SECOND), 0;
}

/* Waits that nobody in this process has needed so far. */

#define UNKNOWN(name, parameters, ...) \
    int name parameters { \
        if (self) unknown(#name); \
        return REAL(name)(__VA_ARGS__); \
    }

UNKNOWN(pthread_cond_wait, (pthread_cond_t *it, pthread_mutex_t *mutex), it, mutex)
UNKNOWN(pthread_cond_timedwait, (pthread_cond_t *it, pthread_mutex_t *mutex, const struct timespec *time), it, mutex, time)
UNKNOWN(pthread_cond_clockwait, (pthread_cond_t *it, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *time), it, mutex, clock, time)
UNKNOWN(pthread_mutex_timedlock, (pthread_mutex_t *it, const struct timespec *time), it, time)
UNKNOWN(pthread_mutex_clocklock, (pthread_mutex_t *it, clockid_t clock, const struct timespec *time), it, clock, time)
UNKNOWN(pthread_rwlock_rdlock, (pthread_rwlock_t *it), it)
UNKNOWN(pthread_rwlock_wrlock, (pthread_rwlock_t *it), it)
UNKNOWN(pthread_barrier_wait, (pthread_barrier_t *it), it)
UNKNOWN(sem_wait, (sem_t *it), it)
UNKNOWN(sem_timedwait, (sem_t *it, const struct timespec *time), it, time)
UNKNOWN(sem_clockwait, (sem_t *it, clockid_t clock, const struct timespec *time), it, clock, time)
UNKNOWN(ppoll, (struct pollfd *files, nfds_t count, const struct timespec *time, const sigset_t *mask), files, count, time, mask)
UNKNOWN(select, (int count, fd_set *in, fd_set *out, fd_set *errors, struct timeval *time), count, in, out, errors, time)
UNKNOWN(epoll_pwait, (int epoll, struct epoll_event *events, int most, int time, const sigset_t *mask), epoll, events, most, time, mask)
UNKNOWN(epoll_pwait2, (int epoll, struct epoll_event *events, int most, const struct timespec *time, const sigset_t *mask), epoll, events, most, time, mask)
UNKNOWN(getentropy, (void *bytes, size_t count), bytes, count)
UNKNOWN(accept, (int file, struct sockaddr *address, socklen_t *length), file, address, length)

int poll(struct pollfd *them, nfds_t count, int milliseconds) {
    if (self && milliseconds) unknown("poll");
    return REAL(poll)(them, count, milliseconds);
}

/* Clocks and random bytes. */

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!self) return REAL(clock_gettime)(clock, time);
    now += LOOK;
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    uint64_t at = is_wall ? (uint64_t)wall_now() : now;
    time->tv_sec = (time_t)(at / SECOND), time->tv_nsec = (long)(at % SECOND);
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    (void)zone;
    time->tv_sec = precise.tv_sec, time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (seconds) *seconds = precise.tv_sec;
    return precise.tv_sec;
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    if (!self) return REAL(getrandom)(bytes, count, flags);
    return fill(bytes, count), (ssize_t)count;
}

/* Files: a flush takes a while, sometimes a long one. */

static int flush(void) {
    sleep_for(below(50) ? 100000 + below(3000000) : below(400000000));
    return 0;
}

int fsync(int file) { return self ? flush() : REAL(fsync)(file); }
int fdatasync(int file) { return self ? flush() : REAL(fdatasync)(file); }

/* Sockets. */

static socklen_t local_name(uint16_t port, struct sockaddr_un *name) {
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "simulation-%d-%d", getpid(), port);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int name_of(uint16_t port, struct sockaddr *name, socklen_t *length) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    if (!name) return 0;
    memcpy(name, &address, *length < sizeof address ? *length : sizeof address);
    *length = sizeof address;
    return 0;
}

static int is_inet(int file) { return self && file >= 0 && file < FILES && files[file].is_inet; }

static struct listener *listener_of(uint16_t port) {
    for (int n = 0; n < listening; n++)
        if (listeners[n].port == port) return &listeners[n];
    return NULL;
}

int socket(int domain, int type, int protocol) {
    int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (!self || (domain != AF_INET && domain != AF_INET6) || kind != SOCK_STREAM) return REAL(socket)(domain, type, protocol);
    int file = REAL(socket)(AF_UNIX, type, 0);
    if (file >= 0) files[file] = (struct file){ .is_inet = 1, .group = self->group };
    return file;
}

int close(int file) {
    if (file >= 0 && file < FILES) files[file] = (struct file){ 0 };
    return REAL(close)(file);
}

int flock(int file, int operation) {
    if (self && !(operation & (LOCK_UN | LOCK_NB))) unknown("flock");
    int failed = REAL(flock)(file, operation);
    if (self && !failed && file < FILES) files[file].is_locked = !(operation & LOCK_UN), files[file].group = self->group;
    return failed;
}

int bind(int file, const struct sockaddr *address, socklen_t length) {
    if (!is_inet(file)) return REAL(bind)(file, address, length);
    uint16_t port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (!port) port = next_port++;
    struct sockaddr_un name;
    int failed = REAL(bind)(file, (struct sockaddr *)&name, local_name(port, &name));
    if (failed) return failed;
    files[file].port = port;
    struct listener *it = listener_of(port);
    if (!it) it = &listeners[listening++], it->port = port;
    it->first = it->last = 0;
    return 0;
}

/* Connects for real; what the socket was is closed. */
static int connect_to_database(int file, const struct sockaddr *address, socklen_t length) {
    int yes = 1, flags = fcntl(file, F_GETFL), real = REAL(socket)(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (real < 0) return -1;
    int failed = REAL(connect)(real, address, length) || REAL(setsockopt)(real, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes)
        || fcntl(real, F_SETFL, flags) || dup3(real, file, O_CLOEXEC) < 0;
    int error = errno;
    REAL(close)(real);
    if (failed) return errno = error, -1;
    files[file].is_real = files[file].in.has_letters = is_fresh = 1;
    files[file].peer = database, files[file].port = next_port++;
    if (file > last_real) last_real = file;
    return 0;
}

/* Follows messages: a start, a query, a function and a Sync are answered in the end by the database's readiness. */
static void follow(struct file *it, struct stream *stream, const uint8_t *bytes, size_t count) {
    is_fresh = 1;
    for (const uint8_t *end = bytes + count; bytes < end;) {
        if (stream->left) {
            size_t skipped = stream->left < (size_t)(end - bytes) ? stream->left : (size_t)(end - bytes);
            stream->left -= (uint32_t)skipped, bytes += skipped;
            continue;
        }
        stream->head[stream->there++] = *bytes++;
        unsigned letter = stream->has_letters;
        if (stream->there < letter + 4) continue;
        const uint8_t *length = stream->head + letter;
        stream->left = ((uint32_t)length[0] << 24 | (uint32_t)length[1] << 16 | (uint32_t)length[2] << 8 | length[3]) - 4;
        if (stream == &it->in) it->owes -= stream->head[0] == 'Z';
        else it->owes += !letter || strchr("QFS", stream->head[0]) != NULL;
        stream->there = 0, stream->has_letters = 1;
    }
}

static int is_real(int file) { return file >= 0 && file < FILES && files[file].is_real; }

ssize_t send(int file, const void *bytes, size_t count, int flags) {
    ssize_t sent = REAL(send)(file, bytes, count, flags);
    if (sent > 0 && is_real(file)) follow(&files[file], &files[file].out, bytes, (size_t)sent);
    return sent;
}

ssize_t recv(int file, void *bytes, size_t count, int flags) {
    ssize_t received = REAL(recv)(file, bytes, count, flags);
    if (received > 0 && is_real(file)) follow(&files[file], &files[file].in, bytes, (size_t)received);
    if (received == 0 && is_real(file)) files[file].owes = 0;
    return received;
}

int connect(int file, const struct sockaddr *address, socklen_t length) {
    if (!is_inet(file)) return REAL(connect)(file, address, length);
    uint16_t port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (database && port == database) return connect_to_database(file, address, length);
    struct listener *it = listener_of(port);
    struct sockaddr_un name;
    if (!it || REAL(connect)(file, (struct sockaddr *)&name, local_name(port, &name))) return errno = ECONNREFUSED, -1;
    files[file].port = next_port++, files[file].peer = port;
    it->waiting[it->last++ % 8192] = files[file].port;
    return 0;
}

int accept4(int file, struct sockaddr *address, socklen_t *length, int flags) {
    if (!is_inet(file)) return REAL(accept4)(file, address, length, flags);
    int accepted = REAL(accept4)(file, NULL, NULL, flags);
    if (accepted < 0) return accepted;
    struct listener *it = listener_of(files[file].port);
    files[accepted] = (struct file){ .is_inet = 1, .group = self->group, .port = it->port, .peer = it->waiting[it->first++ % 8192] };
    name_of(files[accepted].peer, address, length);
    return accepted;
}

int getsockname(int file, struct sockaddr *address, socklen_t *length) {
    return is_inet(file) ? name_of(files[file].port, address, length) : REAL(getsockname)(file, address, length);
}

int getpeername(int file, struct sockaddr *address, socklen_t *length) {
    if (!is_inet(file)) return REAL(getpeername)(file, address, length);
    if (!files[file].peer) return errno = ENOTCONN, -1;
    return name_of(files[file].peer, address, length);
}

int setsockopt(int file, int level, int option, const void *value, socklen_t length) {
    return is_inet(file) ? 0 : REAL(setsockopt)(file, level, option, value, length);
}

int getsockopt(int file, int level, int option, void *value, socklen_t *length) {
    if (!is_inet(file) || (level == SOL_SOCKET && option == SO_ERROR)) return REAL(getsockopt)(file, level, option, value, length);
    memset(value, 0, *length);
    return 0;
}
