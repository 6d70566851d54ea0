/* The threads of one block of a GPU, as coroutines of the host: each runs until it waits for the others. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define MOST 1024
#define STACK (256 << 10)
#define MOST_COPIES 256

typedef struct {
    int registers[12]; /* tid, ntid, ctaid and nctaid, three axes each */
    int number, exchanges, copies, groups;
} thread;

typedef struct {
    char *to;
    const char *from;
    int size, read, group;
} copy;

typedef void (*kernel)(void **parameters, thread *own);

static ucontext_t scheduler, coroutines[MOST];
static thread threads[MOST];
static copy pending[MOST][MOST_COPIES];
static int values[2][MOST], ended[MOST];
static char *stacks;
static kernel function;
static void **arguments;

int emulated_register(thread *own, int which) { return own->registers[which]; }

void emulated_barrier(thread *own) { swapcontext(&coroutines[own->number], &scheduler); }

int emulated_exchange(thread *own, int mask, int value, int distance, int clamp) {
    int turn = own->exchanges++ & 1;
    (void)mask, (void)clamp;
    values[turn][own->number] = value;
    emulated_barrier(own);
    return values[turn][(own->number & ~31) | ((own->number ^ distance) & 31)];
}

static float widened(int word, int upper, int is_bfloat) {
    unsigned bits = upper ? (unsigned)word >> 16 : (unsigned)word & 0xffff;
    if (is_bfloat) {
        unsigned wide = bits << 16;
        float value;
        memcpy(&value, &wide, 4);
        return value;
    }
    return (float)*(_Float16 *)&(unsigned short){(unsigned short)bits};
}

/* mma.sync.m16n8k16: each thread of a warp has four words of a, two of b, and four sums. */
void emulated_multiply(thread *own, const int *words, float *sums, int is_bfloat) {
    static int fragments[MOST][6];
    int warp = own->number & ~31, lane = own->number & 31;
    memcpy(fragments[own->number], words, sizeof fragments[0]);
    emulated_barrier(own);
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) {
            int *a = fragments[warp + row % 8 * 4 + k % 8 / 2], *b = fragments[warp + column * 4 + k % 8 / 2];
            sums[i] += widened(a[row / 8 + k / 8 * 2], k & 1, is_bfloat) * widened(b[4 + k / 8], k & 1, is_bfloat);
        }
    }
    emulated_barrier(own);
}

/* cp.async: nothing is copied before the thread that asked for it waits, and nothing outside of what is read is. */
void emulated_copy(thread *own, int size, char *to, const char *from, int read) {
    if (own->copies == MOST_COPIES) abort();
    pending[own->number][own->copies++] = (copy){to, from, size, read, own->groups};
}

void emulated_commit(thread *own) { own->groups++; }

void emulated_wait(thread *own, int left) {
    int kept = 0;
    for (int i = 0; i < own->copies; i++) {
        copy one = pending[own->number][i];
        if (one.group >= own->groups - left) {
            pending[own->number][kept++] = one;
            continue;
        }
        memset(one.to, 0, one.size);
        memcpy(one.to, one.from, one.read);
    }
    own->copies = kept;
}

static void begin(int number) {
    function(arguments, &threads[number]);
    ended[number] = 1;
}

/* 0, or 1 where some threads of a block ended while others waited for them. */
int emulated_launch(kernel called, void **parameters, const int *grid, const int *block) {
    int count = block[0] * block[1] * block[2];
    if (!stacks) stacks = malloc((size_t)MOST * STACK);
    function = called, arguments = parameters;
    for (int z = 0; z < grid[2]; z++)
    for (int y = 0; y < grid[1]; y++)
    for (int x = 0; x < grid[0]; x++) {
        for (int i = 0; i < count; i++) {
            int registers[12] = {i % block[0], i / block[0] % block[1], i / block[0] / block[1], block[0], block[1],
                                 block[2], x, y, z, grid[0], grid[1], grid[2]};
            memcpy(threads[i].registers, registers, sizeof registers);
            threads[i].number = i, threads[i].exchanges = threads[i].copies = threads[i].groups = 0, ended[i] = 0;
            getcontext(&coroutines[i]);
            coroutines[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
            coroutines[i].uc_stack.ss_size = STACK;
            coroutines[i].uc_link = &scheduler;
            makecontext(&coroutines[i], (void (*)(void))begin, 1, i);
        }
        for (int left = count; left;) {
            for (int i = 0; i < count; i++) swapcontext(&scheduler, &coroutines[i]);
            left = 0;
            for (int i = 0; i < count; i++) left += !ended[i];
            if (left && left != count) return 1;
        }
    }
    return 0;
}
