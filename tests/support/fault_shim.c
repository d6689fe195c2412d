/* Between a daemon and the kernel, by LD_PRELOAD: the n-th write, flush, rename or new file below a
 * directory fails (or the process dies there), and the clock of the wall is off by so much.
 * The control file is shared memory; tests/support/fault_shim.py has the other end of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t offset_ns; /* added to the clock of the wall */
    int32_t calls;     /* which calls count: the bits below; 0 if none */
    int32_t countdown; /* the call that brings it to 0 fails */
    int32_t error;     /* with this errno, or the process dies if it is negative */
    int32_t fired;     /* how many have failed */
    char below[1024];
};
enum { WRITE = 1, FLUSH = 2, RENAME = 4, OPEN = 8 };

static struct control nothing, *control = &nothing;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("SALTLITE_FAULT_SHIM");
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open64");
    int fd = path && real ? real(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at != MAP_FAILED) control = at;
}

static int is_below(const char *path) {
    return !strncmp(path, control->below, strlen(control->below));
}

/* Whether this call is the one: then errno is set, or this is the end. */
static int fails(int call, const char *path) {
    if (!(control->calls & call) || !is_below(path)) return 0;
    if (__atomic_sub_fetch(&control->countdown, 1, __ATOMIC_SEQ_CST) != 0) return 0;
    control->calls = 0;
    __atomic_add_fetch(&control->fired, 1, __ATOMIC_SEQ_CST);
    if (control->error < 0) kill(getpid(), SIGKILL);
    errno = control->error;
    return 1;
}

static int fails_at(int call, int fd) {
    char link[64], path[1024];
    if (!(control->calls & call)) return 0;
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = before;
    if (size < 0) return 0;
    path[size] = 0;
    return fails(call, path);
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    return fails_at(WRITE, fd) ? -1 : real(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return fails_at(WRITE, fd) ? -1 : real(fd, data, size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    return fails_at(WRITE, fd) ? -1 : real(fd, data, size, at);
}
int fsync(int fd) {
    REAL(fsync);
    return fails_at(FLUSH, fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
    REAL(fdatasync);
    return fails_at(FLUSH, fd) ? -1 : real(fd);
}
int rename(const char *old, const char *new) {
    REAL(rename);
    return fails(RENAME, new) ? -1 : real(old, new);
}
int renameat(int at, const char *old, int to, const char *new) {
    REAL(renameat);
    return fails(RENAME, new) ? -1 : real(at, old, to, new);
}

#define OPENER(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
        va_end(rest); \
        return flags & O_CREAT && fails(OPEN, path) ? -1 : real(path, flags, mode); \
    }
OPENER(open)
OPENER(open64)

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    int code = real(clock, now);
    if (!code && control->offset_ns && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * 1000000000LL + now->tv_nsec + control->offset_ns;
        now->tv_sec = ns / 1000000000LL;
        now->tv_nsec = ns % 1000000000LL;
    }
    return code;
}
time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept) *kept = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *restrict kept, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    kept->tv_sec = now.tv_sec;
    kept->tv_usec = now.tv_nsec / 1000;
    return 0;
}
