/* Shows a process another time of day: LD_PRELOAD, with the seconds to add in the file CLOCK_FILE.
   Monotonic clocks and sleeps stay as they are, as on a host whose clock is set wrongly. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
    static __thread struct timespec read_at;
    static __thread long seconds;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    if (now.tv_sec != read_at.tv_sec) {
        const char *path = getenv("CLOCK_FILE");
        FILE *file = path ? fopen(path, "r") : NULL;
        read_at = now;
        if (file) {
            if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
            fclose(file);
        }
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}

/* The kernel waits by its own clock: give it the moment that the caller means. */
int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    static int (*wait)(sem_t *, const struct timespec *);
    struct timespec meant = *until;
    if (!wait) wait = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    meant.tv_sec -= offset();
    return wait(semaphore, &meant);
}
