/* A host that forks, from the start on, while other threads scan; each child scans too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "headrace.h"

static const char *table;
static _Thread_local long count;
static atomic_int is_over;

static bool count_file(const char *path, int64_t size) {
  (void)path;
  (void)size;
  return ++count > 0;
}

static long scan(void) {
  count = 0;
  int32_t status = delta_scan_lazy(table, "{\"city\": \"Bern\"}", 0, count_file);
  return status < 0 ? status : count;
}

static void *keep_scanning(void *wrong) {
  while (!atomic_load(&is_over)) *(int *)wrong |= scan() != 39;
  return NULL;
}

int main(int argc, char **argv) {
  (void)argc;
  table = argv[1];
  pthread_t threads[3];
  int wrong[3] = {0};
  for (int i = 0; i < 3; i++) pthread_create(threads + i, NULL, keep_scanning, wrong + i);
  int children = 0;
  for (int i = 0; i < 5; i++) {
    usleep(i * 20000);
    pid_t child = fork();
    if (!child) {
      alarm(10);
      _exit(scan() != 39);
    }
    int ended = -1;
    waitpid(child, &ended, 0);
    children += ended == 0;
  }
  atomic_store(&is_over, 1);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  printf("children %d, wrong %d\n", children, wrong[0] + wrong[1] + wrong[2]);
  return 0;
}
