/* A wall clock that is wrong by as many seconds as FAULTS_CLOCK holds, a file with a number of eight bytes. Preloaded into a
 * program by LD_PRELOAD; clocks that only go on are right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int (*right)(clockid_t, struct timespec *);
static volatile int64_t *wrong;

__attribute__((constructor)) static void begin(void) {
    right = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("FAULTS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *bytes = mmap(0, sizeof *wrong, PROT_READ, MAP_SHARED, file, 0);
    if (bytes != MAP_FAILED) wrong = bytes;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!right) begin();
    int failed = right(clock, time);
    if (!failed && wrong && clock == CLOCK_REALTIME) time->tv_sec += *wrong;
    return failed;
}
