/* The threads of one block of a GPU, as coroutines of the host: each runs until it waits for the others. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define MOST 1024
#define STACK (256 << 10)

typedef struct {
    int registers[12]; /* tid, ntid, ctaid and nctaid, three axes each */
    int number, exchanges;
} thread;

typedef void (*kernel)(void **parameters, thread *own);

static ucontext_t scheduler, coroutines[MOST];
static thread threads[MOST];
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

/* cp.async: 16 bytes, of which the first `count` are copied, and the others are zeros. */
void emulated_copied(char *to, const char *source, int count) {
    if ((size_t)to % 16 || (count && (size_t)source % 16)) abort();
    memcpy(to, source, count);
    memset(to + count, 0, 16 - count);
}

static unsigned rounded(float value) {
    unsigned bits;
    memcpy(&bits, &value, 4);
    if (value != value) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

int emulated_bfloat_pair(float high, float low) { return (int)(rounded(high) << 16 | rounded(low)); }

/* ldmatrix.m8n8.x4: thread i has the address of row i % 8 of matrix i / 8, and gets two elements of each of the four. */
void emulated_four_matrices(thread *own, const char *row, unsigned *words, int is_turned) {
    static const char *rows[MOST];
    int warp = own->number & ~31, lane = own->number & 31;
    if ((size_t)row % 16) abort();
    rows[own->number] = row;
    emulated_barrier(own);
    for (int i = 0; i < 4; i++) {
        unsigned short pair[2];
        for (int e = 0; e < 2; e++) {
            int line = is_turned ? lane % 4 * 2 + e : lane / 4, column = is_turned ? lane / 4 : lane % 4 * 2 + e;
            memcpy(&pair[e], rows[warp + 8 * i + line] + 2 * column, 2);
        }
        memcpy(&words[i], pair, 4);
    }
    emulated_barrier(own);
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
            threads[i].number = i, threads[i].exchanges = 0, ended[i] = 0;
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
