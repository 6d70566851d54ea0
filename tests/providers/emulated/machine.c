/* The blocks of a GPU, a cluster at a time, as coroutines of the host: a thread runs until it waits for others.

   Copies of a thread are made when it waits for them. What else is asynchronous on a GPU is done at once: copies of the
   copy engine when they begin, products when they are issued. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MOST 4096
#define MOST_BLOCKS 8
#define MOST_COPIES 256
#define STACK (256 << 10)
#define SHARED (256 << 10)
#define WARP 32
#define WARPGROUP 128

typedef struct {
    int registers[12]; /* tid, ntid, ctaid and nctaid, three axes each */
    int number, block, all; /* in its block; that in its cluster; its place among all threads of a cluster */
    int exchanges, copies, groups;
} thread;

typedef struct {
    char *to;
    const char *from;
    int size, read, group;
} pending_copy;

typedef struct {
    int arrived, generation;
} barrier;

typedef struct { /* an mbarrier: eight bytes of shared memory */
    int bytes;
    unsigned pending : 15, arrivals : 15, phase : 1;
} counter;

typedef struct { /* what `cuTensorMapEncodeTiled` writes here */
    char *address;
    long rank, sizes[5], strides[4];
    int box[5];
} map;

typedef void (*kernel)(void **parameters, thread *own);

static ucontext_t scheduler, coroutines[MOST];
static thread threads[MOST];
static pending_copy pending[MOST][MOST_COPIES];
static int values[2][MOST], ended[MOST], block_threads, cluster_threads, progress, is_wrong;
static barrier blocks[MOST_BLOCKS], some[MOST_BLOCKS], warps[MOST / WARP], warpgroups[MOST / WARPGROUP], cluster;
static char shared[MOST_BLOCKS][SHARED] __attribute__((aligned(1024)));
static char *stacks;
static kernel function;
static void **arguments;

static void yield(thread *own) { swapcontext(&coroutines[own->all], &scheduler); }

static void meet(thread *own, barrier *at, int count) {
    int generation = at->generation;
    if (++at->arrived == count) {
        at->arrived = 0, at->generation++, progress++;
        return;
    }
    while (at->generation == generation) yield(own);
}

static void meet_warp(thread *own) {
    int first = own->number & ~(WARP - 1), left = block_threads - first;
    meet(own, &warps[(own->all - own->number + first) / WARP], left < WARP ? left : WARP);
}

char *emulated_memory(thread *own) { return shared[own->block]; }

void emulated_meet_warp(thread *own) { meet_warp(own); }

int emulated_register(thread *own, int which) { return own->registers[which]; }

void emulated_barrier(thread *own) { meet(own, &blocks[own->block], block_threads); }

int emulated_exchange(thread *own, int mask, int value, int distance, int clamp) {
    int turn = own->exchanges++ & 1, first = own->all - own->number % WARP;
    (void)mask, (void)clamp;
    values[turn][own->all] = value;
    meet_warp(own);
    return values[turn][first + ((own->number ^ distance) & (WARP - 1))];
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
    int warp = own->all - own->number % WARP, lane = own->number % WARP;
    memcpy(fragments[own->all], words, sizeof fragments[0]);
    meet_warp(own);
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; k++) {
            int *a = fragments[warp + row % 8 * 4 + k % 8 / 2], *b = fragments[warp + column * 4 + k % 8 / 2];
            sums[i] += widened(a[row / 8 + k / 8 * 2], k & 1, is_bfloat) * widened(b[4 + k / 8], k & 1, is_bfloat);
        }
    }
    meet_warp(own);
}

/* cp.async: nothing is copied before the thread that asked for it waits, and nothing outside of what is read is.

   `to` is a pointer, or a place in dynamic shared memory. */
void emulated_copy(thread *own, int size, char *to, const char *from, int read) {
    if ((size_t)to < SHARED) to = shared[own->block] + (size_t)to;
    if (own->copies == MOST_COPIES || (size_t)to % size || (read && (size_t)from % size)) {
        is_wrong = 2;
        return;
    }
    pending[own->all][own->copies++] = (pending_copy){to, from, size, read, own->groups};
}

void emulated_commit(thread *own) { own->groups++; }

void emulated_wait(thread *own, int left) {
    int kept = 0;
    for (int i = 0; i < own->copies; i++) {
        pending_copy one = pending[own->all][i];
        if (one.group >= own->groups - left) {
            pending[own->all][kept++] = one;
            continue;
        }
        memset(one.to, 0, one.size);
        memcpy(one.to, one.from, one.read);
    }
    own->copies = kept;
}

static float tf32(int bits) {
    float value;
    bits &= (bits & 0x7f800000) ? ~0x1fff : 0x80000000;
    memcpy(&value, &bits, 4);
    return value;
}

/* Bits of an address in the order of a swizzle of 128 bytes. */
static int swizzled(int address) { return address ^ (address >> 7 & 7) << 4; }

static void end_phase(counter *at) {
    if (at->pending || at->bytes) return;
    at->pending = at->arrivals, at->phase ^= 1, progress++;
}

static counter *counter_at(thread *own, int address) { return (counter *)(shared[own->block] + address); }

/* A box of a tensor to shared memory, in lines of 128 bytes; what is outside is zeros. */
static void copy(thread *own, const long *in, int rank) {
    int to = (int)in[0], place[5] = {0}, bytes = 0;
    map *of = (map *)in[1];
    counter *done = counter_at(own, (int)in[2 + rank]);
    if (rank != of->rank || to % 1024 || of->box[0] != 64) is_wrong = 2;
    for (;;) {
        char *from = of->address;
        int is_inside = 1;
        for (int axis = 0; axis < rank; axis++) {
            long at = (int)in[2 + axis] + place[axis];
            is_inside &= at >= 0 && at < of->sizes[axis];
            from += at * (axis ? of->strides[axis - 1] : 2);
        }
        short element = 0;
        if (is_inside) memcpy(&element, from, 2);
        memcpy(shared[own->block] + swizzled(to + bytes), &element, 2);
        bytes += 2;
        int axis = 0;
        while (axis < rank && ++place[axis] == of->box[axis]) place[axis++] = 0;
        if (axis == rank) break;
    }
    done->bytes -= bytes;
    end_phase(done);
}

/* Where element k of a line is that a descriptor of wgmma says; lines are along k, or (turned) along the other axis. */
static int word_of(thread *own, long descriptor, int line, int k, int is_turned) {
    int start = (int)(descriptor & 0x3fff) << 4, panel = (int)(descriptor >> 16 & 0x3fff) << 4;
    int eight = (int)(descriptor >> 32 & 0x3fff) << 4;
    int at = is_turned ? line / 64 * panel + k / 8 * eight + k % 8 * 128 + line % 64 * 2
                       : line / 8 * eight + line % 8 * 128 + k * 2;
    unsigned short element;
    memcpy(&element, shared[own->block] + swizzled(start + at), 2);
    return element;
}

/* wgmma.m64nNk16: each of 128 threads has two rows of pairs of columns. */
static void multiply_tiles(thread *own, const long *in, float *out, int n, int is_bfloat, int left, int right) {
    int count = n / 2, own_row = own->number % WARPGROUP / WARP * 16 + own->number % WARP / 4;
    const long *tiles = in + count;
    for (int i = 0; i < count; i++) {
        int row = own_row + i % 4 / 2 * 8, column = i / 4 * 8 + own->number % 4 * 2 + i % 2;
        float sum = 0;
        if ((int)tiles[2]) memcpy(&sum, in + i, 4);
        for (int k = 0; k < 16; k++)
            sum += widened(word_of(own, tiles[0], row, k, left), 0, is_bfloat) *
                   widened(word_of(own, tiles[1], column, k, right), 0, is_bfloat);
        out[i] = sum;
    }
}

/* The same, where the left operand is in registers, as that of mma.sync, and lines of the right one are its columns. */
static void multiply_registers(thread *own, const long *in, float *out, int n, int is_bfloat) {
    static int fragments[MOST][4];
    int count = n / 2, warp = own->all - own->number % WARP, lane = own->number % WARP;
    for (int i = 0; i < 4; i++) fragments[own->all][i] = (int)in[count + i];
    meet_warp(own);
    for (int i = 0; i < count; i++) {
        int row = i % 4 / 2, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float sum;
        memcpy(&sum, in + i, 4);
        for (int k = 0; k < 16; k++)
            sum += widened(fragments[warp + lane / 4 * 4 + k % 8 / 2][row + k / 8 * 2], k & 1, is_bfloat) *
                   widened(word_of(own, in[count + 4], column, k, 1), 0, is_bfloat);
        out[i] = sum;
    }
    meet_warp(own);
}

/* wgmma.m64nNk8 of TF32, which has no lower 13 bits; numbers below the smallest normal one are zeros here. */
static void multiply_wide(thread *own, const long *in, float *out, int n) {
    static int fragments[MOST][4];
    int count = n / 2, warp = own->all - own->number % WARP, lane = own->number % WARP;
    const long *words = in + count;
    for (int i = 0; i < 4; i++) fragments[own->all][i] = (int)words[i];
    meet_warp(own);
    for (int i = 0; i < count; i++) {
        int below = i % 4 / 2, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        float sum = 0;
        if ((int)words[5]) memcpy(&sum, in + i, 4);
        for (int k = 0; k < 8; k++) {
            int at = column / 8 * 1024 + column % 8 * 128 + k * 4, a, b;
            a = fragments[warp + lane / 4 * 4 + k % 4][below + k / 4 * 2];
            memcpy(&b, shared[own->block] + swizzled(((int)(words[4] & 0x3fff) << 4) + at), 4);
            sum += tf32(a) * tf32(b);
        }
        out[i] = sum;
    }
    meet_warp(own);
}

/* ldmatrix.m8n8.x4: each thread of a warp points at a line of one of four matrices, and gets a pair of each of them. */
static void load_matrices(thread *own, int address, float *out, int is_turned) {
    int warp = own->all - own->number % WARP, lane = own->number % WARP, turn = own->exchanges++ & 1;
    values[turn][own->all] = address;
    meet_warp(own);
    for (int matrix = 0; matrix < 4; matrix++)
        for (int i = 0; i < 2; i++) {
            int row = lane / 4, column = lane % 4 * 2 + i;
            int line = is_turned ? column : row, place = is_turned ? row : column;
            char *from = shared[own->block] + values[turn][warp + 8 * matrix + line] + 2 * place;
            memcpy((char *)(out + matrix) + 2 * i, from, 2);
        }
}

/* The operations of PTX that kernels have in line, in the order of `_OPERATIONS`. */
enum { NOTHING, INIT, EXPECT, ARRIVE, WAIT, COPY, PRODUCTS, PRODUCTS_DONE, RANK, MEET_CLUSTER, STORE_PAIR, LOAD_FOUR,
       PRODUCTS_OF_REGISTERS, MEET_SOME, ARRIVE_AND_WAIT, MATRICES, MATRICES_TURNED, WIDE_PRODUCTS, STORE_WORDS,
       LOAD_WORDS, STORE_WORD, ARRIVE_AFTER_COPIES, HERE };

void emulated_ptx(thread *own, int operation, const int *numbers, const long *in, float *out) {
    counter *at = counter_at(own, operation == NOTHING ? 0 : (int)in[0] & (SHARED - 1));
    switch (operation) {
    case INIT: *at = (counter){0, (unsigned)numbers[0], (unsigned)numbers[0], 0}; break;
    case EXPECT: at->bytes += (int)in[1]; /* fall through */
    case ARRIVE_AFTER_COPIES: emulated_commit(own), emulated_wait(own, 0); /* fall through */
    case ARRIVE: at->pending--, end_phase(at); break;
    case WAIT: while ((int)at->phase == (int)in[1]) yield(own); break;
    case COPY: copy(own, in, numbers[0]); break;
    case PRODUCTS: multiply_tiles(own, in, out, numbers[0], numbers[1], numbers[2], numbers[3]); break;
    case PRODUCTS_DONE:
        for (int i = 0; i < numbers[1]; i++) memcpy(out + i, in + i, 4);
        meet(own, &warpgroups[own->all / WARPGROUP], WARPGROUP);
        break;
    case HERE: for (int i = 0; i < numbers[0]; i++) memcpy(out + i, in + i, 4); break;
    case RANK: memcpy(out, &own->block, 4); break;
    case MEET_CLUSTER: meet(own, &cluster, cluster_threads); break;
    case STORE_PAIR:
        for (int i = 0; i < 2; i++) memcpy(shared[own->block] + (int)in[0] + 4 * i, in + 1 + i, 4);
        break;
    case PRODUCTS_OF_REGISTERS: multiply_registers(own, in, out, numbers[0], numbers[1]); break;
    case MEET_SOME: meet(own, &some[own->block], numbers[0]); break;
    case ARRIVE_AND_WAIT:
        ++*(volatile int *)in[0], progress++;
        while (*(volatile int *)in[0] < (int)in[1]) yield(own);
        break;
    case MATRICES: case MATRICES_TURNED: load_matrices(own, (int)in[0], out, operation == MATRICES_TURNED); break;
    case WIDE_PRODUCTS: multiply_wide(own, in, out, numbers[0]); break;
    case STORE_WORDS:
        for (int i = 0; i < 4; i++) memcpy(shared[own->block] + (int)in[0] + 4 * i, in + 1 + i, 4);
        break;
    case LOAD_WORDS: memcpy(out, shared[own->block] + (int)in[0], 16); break;
    case STORE_WORD: memcpy(shared[own->block] + (int)in[0], in + 1, 4); break;
    case LOAD_FOUR: memcpy(out, shared[(int)in[1]] + (int)in[0], 16); break;
    }
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
    int warp = own->all - own->number % WARP, lane = own->number % WARP;
    if ((size_t)row % 16) abort();
    rows[own->all] = row;
    meet_warp(own);
    for (int i = 0; i < 4; i++) {
        unsigned short pair[2];
        for (int e = 0; e < 2; e++) {
            int line = is_turned ? lane % 4 * 2 + e : lane / 4, column = is_turned ? lane / 4 : lane % 4 * 2 + e;
            memcpy(&pair[e], rows[warp + 8 * i + line] + 2 * column, 2);
        }
        memcpy(&words[i], pair, 4);
    }
    meet_warp(own);
}

static void begin(int number) {
    function(arguments, &threads[number]);
    ended[number] = 1, progress++;
}

static void start(int number, const thread *as) {
    threads[number] = *as, ended[number] = 0;
    getcontext(&coroutines[number]);
    coroutines[number].uc_stack.ss_sp = stacks + (size_t)number * STACK;
    coroutines[number].uc_stack.ss_size = STACK;
    coroutines[number].uc_link = &scheduler;
    makecontext(&coroutines[number], (void (*)(void))begin, 1, number);
}

/* 0; 1 where threads wait for others that never come; 2 where an instruction has operands that it may not have. */
int emulated_launch(kernel called, void **parameters, const int *grid, const int *block, int clustered) {
    block_threads = block[0] * block[1] * block[2], cluster_threads = block_threads * clustered;
    int apart = (block_threads + WARPGROUP - 1) / WARPGROUP * WARPGROUP; /* so that warps are not of two blocks */
    if (!stacks) stacks = mmap(0, (size_t)MOST * STACK, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (apart * clustered > MOST || clustered > MOST_BLOCKS) return 2;
    function = called, arguments = parameters, is_wrong = 0;
    for (int z = 0; z < grid[2]; z++)
    for (int y = 0; y < grid[1]; y++)
    for (int x = 0; x < grid[0]; x += clustered) {
        memset(blocks, 0, sizeof blocks), memset(some, 0, sizeof some), memset(warps, 0, sizeof warps), memset(&cluster, 0, sizeof cluster);
        memset(warpgroups, 0, sizeof warpgroups), memset(shared, 0xa5, sizeof shared[0] * clustered);
        for (int own = 0; own < clustered; own++)
            for (int i = 0; i < block_threads; i++) {
                thread as = {{i % block[0], i / block[0] % block[1], i / block[0] / block[1], block[0], block[1],
                              block[2], x + own, y, z, grid[0], grid[1], grid[2]}, i, own, own * apart + i, 0, 0, 0};
                start(as.all, &as);
            }
        for (int left = cluster_threads, idle = 0; left;) {
            int before = progress;
            for (int own = left = 0; own < clustered; own++)
                for (int i = own * apart; i < own * apart + block_threads; i++) {
                    if (!ended[i]) swapcontext(&scheduler, &coroutines[i]);
                    left += !ended[i];
                }
            idle = progress == before ? idle + 1 : 0;
            if (idle > 1) return 1;
        }
        if (is_wrong) return is_wrong;
    }
    return 0;
}
