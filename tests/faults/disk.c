/* A disk that forgets what was not flushed, and fails when it is told to. Preloaded into a program by LD_PRELOAD.
 *
 * FAULTS_DATA is the folder that lies on this disk; everything else is none of ours. What the program reads and writes
 * there is the real files. What would be left of them after a cut of the power is kept beside them, in FAULTS_DURABLE:
 *   content/ID   of a file, what it held when it was last flushed (fsync, fdatasync);
 *   names/ID     of a folder, its entries when it was last flushed: lines of "d ID name" and "f ID name".
 * An ID is inode and birth, so that an inode that is used again is another file.
 *
 * FAULTS_ORDERS is a file of orders, a line each, read before every call:
 *   write ERRNO  what writes fails; with ENOSPC (28) only what makes a file longer, as on a full disk;
 *   open ERRNO   what opens a file for writing fails;
 *   sync ERRNO   what flushes fails, and as on Linux the pages count as clean afterwards: no later flush writes them;
 *   sync 0       what flushes never returns; once something hangs so, FAULTS_DURABLE/hangs is there. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PATH 4096

struct range { off_t from, to; };

/* What was written to a file since it was last flushed. */
struct file {
    struct file *next;
    char id[64];
    int whole; /* All of it: a process that is dead may have left something, which a flush of ours takes along. */
    size_t ranges, room;
    struct range *range;
};

static struct file *files;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether a path is on the disk. */
static int on_disk(const char *path) {
    const char *data = getenv("FAULTS_DATA");
    size_t length = data ? strlen(data) : 0;
    return length && !strncmp(path, data, length) && (path[length] == '/' || !path[length]);
}

/* Whether an open file is, and if so its path; of one without a name it ends with " (deleted)". */
static int path_of(int fd, char path[PATH]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return on_disk(path);
}

static int has_name(const char *path) {
    const char *deleted = " (deleted)";
    size_t length = strlen(path), tail = strlen(deleted);
    return length < tail || strcmp(path + length - tail, deleted);
}

static int identify(int folder, const char *name, int flags, char id[64]) {
    struct statx found;
    if (statx(folder, name, flags, STATX_INO | STATX_BTIME | STATX_TYPE, &found)) return -1;
    snprintf(id, 64, "%llu.%lld.%u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
    return S_ISDIR(found.stx_mode);
}

static void kept_at(char path[PATH], const char *kind, const char *id) {
    snprintf(path, PATH, "%s/%s/%s", getenv("FAULTS_DURABLE"), kind, id);
}

/* The error that is ordered of this, or -1. */
static int ordered(const char *what) {
    char text[256], *rest = text;
    const char *orders = getenv("FAULTS_ORDERS");
    int fd = orders ? REAL(open64)(orders, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return -1;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        size_t word = strlen(what);
        if (!strncmp(line, what, word) && line[word] == ' ') return atoi(line + word);
    }
    return -1;
}

/* With the lock held. */
static struct file *known(const char *id) {
    for (struct file *file = files; file; file = file->next)
        if (!strcmp(file->id, id)) return file;
    struct file *file = calloc(1, sizeof *file);
    strcpy(file->id, id);
    file->whole = 1;
    file->next = files;
    return files = file;
}

static void wrote(int fd, off_t from, off_t to, int whole) {
    char id[64];
    if (identify(fd, "", AT_EMPTY_PATH, id) < 0) return;
    pthread_mutex_lock(&lock);
    struct file *file = known(id);
    struct range *last = file->ranges ? &file->range[file->ranges - 1] : NULL;
    if (whole) {
        file->whole = 1;
    } else if (last && last->from <= from && from <= last->to) {
        if (to > last->to) last->to = to;
    } else {
        if (file->ranges == file->room) {
            file->room = file->room ? 2 * file->room : 64;
            file->range = realloc(file->range, file->room * sizeof *file->range);
        }
        file->range[file->ranges++] = (struct range){from, to};
    }
    pthread_mutex_unlock(&lock);
}

/* Whether a write must fail. */
static int fails(int fd, off_t to) {
    char path[PATH];
    struct stat now;
    if (!path_of(fd, path)) return 0;
    int error = ordered("write");
    if (error <= 0 || (error == ENOSPC && !fstat(fd, &now) && to <= now.st_size)) return 0;
    errno = error;
    return 1;
}

static ssize_t written(int fd, off_t from, ssize_t length) {
    char path[PATH];
    if (length > 0 && path_of(fd, path) && has_name(path)) wrote(fd, from, from + length, 0);
    return length;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    if (fails(fd, at + (off_t)length)) return -1;
    return written(fd, at, REAL(pwrite64)(fd, bytes, length, at));
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }

/* Where a write without an offset goes: to the end, if the file is open for appending. */
static off_t position(int fd) {
    struct stat now;
    return fcntl(fd, F_GETFL) & O_APPEND && !fstat(fd, &now) ? now.st_size : lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    char path[PATH];
    if (!path_of(fd, path)) return REAL(write)(fd, bytes, length);
    off_t at = position(fd);
    if (fails(fd, at + (off_t)length)) return -1;
    return written(fd, at, REAL(write)(fd, bytes, length));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH];
    if (!path_of(fd, path)) return REAL(writev)(fd, parts, count);
    off_t at = position(fd), length = 0;
    for (int part = 0; part < count; part++) length += parts[part].iov_len;
    if (fails(fd, at + length)) return -1;
    return written(fd, at, REAL(writev)(fd, parts, count));
}

int ftruncate64(int fd, off64_t length) {
    char path[PATH];
    if (fails(fd, length)) return -1;
    int done = REAL(ftruncate64)(fd, length);
    if (!done && path_of(fd, path) && has_name(path)) wrote(fd, 0, 0, 1);
    return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int opened(const char *path, int flags) {
    int error = (flags & O_ACCMODE) != O_RDONLY && on_disk(path) ? ordered("open") : -1;
    if (error <= 0) return 1;
    errno = error;
    return 0;
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(path, flags) ? REAL(open64)(path, flags, mode) : -1;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(path, flags, mode);
}

static void copy(int from, int to, off_t at, off_t end) {
    static __thread char bytes[1 << 16];
    while (at < end) {
        size_t part = end - at < (off_t)sizeof bytes ? (size_t)(end - at) : sizeof bytes;
        ssize_t length = pread64(from, bytes, part, at);
        if (length <= 0) return;
        REAL(pwrite64)(to, bytes, length, at);
        at += length;
    }
}

static void keep_content(int fd, const char *id, struct file *file) {
    char path[PATH];
    struct stat now;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int from = REAL(open64)(path, O_RDONLY | O_CLOEXEC);
    kept_at(path, "content", id);
    int to = REAL(open64)(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (from < 0 || to < 0 || fstat(from, &now)) abort();
    if (file->whole) copy(from, to, 0, now.st_size);
    for (size_t n = 0; !file->whole && n < file->ranges; n++) copy(from, to, file->range[n].from, file->range[n].to);
    if (REAL(ftruncate64)(to, now.st_size)) abort();
    close(from);
    close(to);
}

static void keep_names(const char *folder, const char *id) {
    char path[PATH], fresh[PATH], entry[64];
    kept_at(path, "names", id);
    kept_at(fresh, "content", "fresh");
    FILE *list = fopen(fresh, "w");
    DIR *entries = opendir(folder);
    if (!list || !entries) abort();
    for (struct dirent *found; (found = readdir(entries));) {
        if (!strcmp(found->d_name, ".") || !strcmp(found->d_name, "..")) continue;
        int is_folder = identify(dirfd(entries), found->d_name, AT_SYMLINK_NOFOLLOW, entry);
        if (is_folder >= 0) fprintf(list, "%c %s %s\n", is_folder ? 'd' : 'f', entry, found->d_name);
    }
    closedir(entries);
    fclose(list);
    if (rename(fresh, path)) abort();
}

/* Marks that a flush hangs, for who waits for it. */
static void mark(void) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/hangs", getenv("FAULTS_DURABLE"));
    close(REAL(open64)(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

int fsync(int fd) {
    char path[PATH], id[64];
    if (!path_of(fd, path)) return REAL(fsync)(fd);
    int is_folder = identify(fd, "", AT_EMPTY_PATH, id), error = ordered("sync");
    if (!error) mark();
    while (!error) pause(), error = ordered("sync");
    /* A command may use the disk beside the server. */
    int others = REAL(open64)(getenv("FAULTS_DURABLE"), O_RDONLY | O_CLOEXEC);
    flock(others, LOCK_EX);
    pthread_mutex_lock(&lock);
    struct file *file = known(id);
    if (error < 0 && is_folder) keep_names(path, id);
    if (error < 0 && !is_folder && has_name(path)) keep_content(fd, id, file);
    file->whole = file->ranges = 0;
    pthread_mutex_unlock(&lock);
    close(others);
    if (error > 0) errno = error;
    return error > 0 ? -1 : 0;
}

int fdatasync(int fd) { return fsync(fd); }
