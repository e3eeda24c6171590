/* The inner loops of the lattice search. Called through ctypes; everything that decides is in Python.

   No function keeps state or allocates: all memory comes from the caller, so that calls may run side by side. Numbers come
   out bit for bit as from the same steps in numpy (tuples.py, candidates.py): the only arithmetic with fractions is what
   IEEE 754 rounds alike everywhere, and it must be compiled without contraction to fused operations. */

#include <math.h>
#include <stdint.h>
#include <stddef.h>

#define VERSION 2 /* as in native_engine.py */

int64_t discreet_version(void) { return VERSION; }

/* Counting. A tuple has one id per group of columns; `ranks` says per group which number is left of an id at a node. */

typedef struct {
    int64_t tuples;             /* how many */
    int64_t groups;
    const uint16_t *const *ids; /* per group, the id of each tuple */
    const uint32_t *counts;     /* rows of each tuple */
} Tuples;

typedef struct {
    uint32_t *table; /* all zero between calls */
    int64_t room;    /* entries of the table */
    uint64_t *keys;  /* each of the following has room for one entry per tuple, and one to spare */
    uint32_t *slots;
    uint32_t *sizes;
    uint32_t *first;
    int64_t classes; /* found by the last call */
} Work;

static inline uint64_t key_of(const Tuples *t, const uint16_t *const *ranks, const uint64_t *left, int64_t row) {
    uint64_t key = 0;
    for (int64_t g = t->groups - 1; g >= 0; g--)
        key = key * left[g] + ranks[g][t->ids[g][row]];
    return key;
}

/* Classes in a table with an entry per key: written without a branch per tuple. */
#define COUNT_DIRECTLY(KEY)                             \
    for (int64_t row = 0; row < n; row++) {             \
        uint32_t key = (uint32_t)(KEY);                 \
        uint32_t before = table[key];                   \
        slots[found] = key;                             \
        first[found] = (uint32_t)row;                   \
        found += before == 0;                           \
        table[key] = before + counts[row];              \
    }

static int64_t count_directly(const Tuples *t, const uint16_t *const *ranks, const uint64_t *left, Work *w) {
    const int64_t n = t->tuples;
    const uint32_t *counts = t->counts;
    uint32_t *table = w->table, *slots = w->slots, *first = w->first;
    int64_t found = 0;
    const uint16_t *i[4] = {0}, *r[4] = {0};
    uint32_t m[4] = {1, 1, 1, 1};
    for (int64_t g = 0; g < t->groups && g < 4; g++) {
        i[g] = t->ids[g];
        r[g] = ranks[g];
        m[g] = (uint32_t)left[g];
    }
    const uint16_t *i0 = i[0], *i1 = i[1], *i2 = i[2], *i3 = i[3], *r0 = r[0], *r1 = r[1], *r2 = r[2], *r3 = r[3];
    const uint32_t m0 = m[0], m1 = m[1], m2 = m[2];
    switch (t->groups) {
    case 1:
        COUNT_DIRECTLY(r0[i0[row]])
        break;
    case 2:
        COUNT_DIRECTLY(r0[i0[row]] + m0 * r1[i1[row]])
        break;
    case 3:
        COUNT_DIRECTLY(r0[i0[row]] + m0 * (r1[i1[row]] + m1 * r2[i2[row]]))
        break;
    case 4:
        COUNT_DIRECTLY(r0[i0[row]] + m0 * (r1[i1[row]] + m1 * (r2[i2[row]] + m2 * r3[i3[row]])))
        break;
    default:
        COUNT_DIRECTLY(key_of(t, ranks, left, row))
    }
    for (int64_t c = 0; c < found; c++) {
        w->sizes[c] = table[slots[c]];
        table[slots[c]] = 0;
    }
    return found;
}

/* Classes by open addressing, where there are far more keys than tuples. */
static int64_t count_hashed(const Tuples *t, const uint16_t *const *ranks, const uint64_t *left, Work *w) {
    const int64_t n = t->tuples;
    int bits = 4;
    while (((int64_t)1 << bits) < 2 * n)
        bits++;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint32_t *table = w->table;
    int64_t found = 0;
    for (int64_t row = 0; row < n; row++) {
        const uint64_t key = key_of(t, ranks, left, row);
        uint64_t slot = (key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
        uint32_t at;
        while ((at = table[slot]) != 0 && w->keys[at - 1] != key)
            slot = (slot + 1) & mask;
        if (at == 0) {
            w->keys[found] = key;
            w->slots[found] = (uint32_t)slot;
            w->first[found] = (uint32_t)row;
            w->sizes[found] = 0;
            table[slot] = at = (uint32_t)++found;
        }
        w->sizes[at - 1] += t->counts[row];
    }
    for (int64_t c = 0; c < found; c++)
        table[w->slots[c]] = 0;
    return found;
}

/* The classes at a node, into sizes and first: how many, or -1 where keys do not fit. */
int64_t discreet_count(const Tuples *t, const uint16_t *const *ranks, const uint64_t *left, Work *w) {
    uint64_t bound = 1;
    for (int64_t g = 0; g < t->groups; g++) {
        if (left[g] != 0 && bound > (UINT64_C(1) << 62) / left[g])
            return w->classes = -1;
        bound *= left[g];
    }
    if (bound <= (uint64_t)w->room)
        w->classes = count_directly(t, ranks, left, w);
    else
        w->classes = count_hashed(t, ranks, left, w);
    return w->classes;
}

/* What a node comes to: rows in classes below k, larger classes, squares of all, squares of the larger. */
int64_t discreet_look(const Tuples *t, const uint16_t *const *ranks, const uint64_t *left, Work *w, int64_t k, int64_t *out) {
    if (discreet_count(t, ranks, left, w) < 0)
        return -1;
    int64_t few = 0, small = 0, squares = 0, few_squares = 0;
    for (int64_t c = 0; c < w->classes; c++) {
        const int64_t size = w->sizes[c], square = size * size, is_small = -(int64_t)(size < k);
        squares += square;
        few += size & is_small;
        few_squares += square & is_small;
        small -= is_small;
    }
    out[0] = few;
    out[1] = w->classes - small;
    out[2] = squares;
    out[3] = squares - few_squares;
    return w->classes;
}

/* Rows of the small classes found last by the code that stands for their value, all columns one after another. */
void discreet_spread(const Work *w, int64_t k, const int64_t *rows, int64_t columns, const uint32_t *const *codes,
                     const int64_t *const *standing, const int64_t *starts, int64_t *out) {
    for (int64_t c = 0; c < w->classes; c++) {
        if ((int64_t)w->sizes[c] >= k)
            continue;
        const int64_t row = rows[w->first[c]];
        for (int64_t j = 0; j < columns; j++)
            out[starts[j] + standing[j][codes[j][row]]] += w->sizes[c];
    }
}

/* Of the small classes found last, the one whose tuple is rarest: its row. */
int64_t discreet_rarest(const Work *w, int64_t k, const int64_t *rows, const double *rarity) {
    int64_t best = -1;
    for (int64_t c = 0; c < w->classes; c++) {
        if ((int64_t)w->sizes[c] >= k)
            continue;
        const int64_t row = rows[w->first[c]];
        if (best < 0 || rarity[row] < rarity[best] || (rarity[row] == rarity[best] && row < best))
            best = row;
    }
    return best;
}

/* What is left of each id of a group at a node: numbers from 0 in the order in which they first occur; how many, or -1 where keys
   do not fit. */
int64_t discreet_rank(int64_t columns, int64_t ids, const uint32_t *const *codes, const int64_t *const *standing,
                      const int64_t *sizes, Work *w, uint16_t *out) {
    uint64_t bound = 1;
    for (int64_t j = 0; j < columns; j++) {
        if (bound > (UINT64_C(1) << 62) / (uint64_t)sizes[j])
            return -1;
        bound *= (uint64_t)sizes[j];
    }
    int bits = 4;
    while (((int64_t)1 << bits) < 2 * ids)
        bits++;
    if (((int64_t)1 << bits) > w->room)
        return -1;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    const int direct = bound <= (uint64_t)w->room;
    uint32_t *table = w->table;
    int64_t found = 0;
    for (int64_t id = 0; id < ids; id++) {
        uint64_t key = 0;
        for (int64_t j = 0; j < columns; j++)
            key = key * (uint64_t)sizes[j] + (uint64_t)standing[j][codes[j][id]];
        uint64_t slot = direct ? key : (key * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
        uint32_t at;
        while ((at = table[slot]) != 0 && w->keys[at - 1] != key)
            slot = (slot + 1) & mask;
        if (at == 0) {
            w->keys[found] = key;
            w->slots[found] = (uint32_t)slot;
            table[slot] = at = (uint32_t)++found;
        }
        out[id] = (uint16_t)(at - 1);
    }
    for (int64_t c = 0; c < found; c++)
        table[w->slots[c]] = 0;
    return found;
}

/* Sums over all nodes that are nowhere coarser, or nowhere finer; in place. */
void discreet_add_up(int32_t *numbers, int64_t nodes, int64_t columns, const int64_t *shape, int64_t finer) {
    int64_t stride = 1;
    for (int64_t j = columns - 1; j >= 0; j--) {
        const int64_t block = stride * shape[j];
        for (int64_t start = 0; start < nodes; start += block)
            for (int64_t level = 1; level < shape[j]; level++) {
                int32_t *restrict into = numbers + start + (finer ? shape[j] - 1 - level : level) * stride;
                const int32_t *restrict from = finer ? into + stride : into - stride;
                for (int64_t at = 0; at < stride; at++)
                    into[at] += from[at];
            }
        stride = block;
    }
}

typedef struct {
    int64_t columns, nodes;
    const int64_t *const *const *standing; /* per column and level, what each code becomes */
    const int64_t *heights, *sizes;        /* of each column */
    const int64_t *columns_of;             /* per group, how many columns it has */
    const int64_t *column;                 /* which those are, group after group */
    const uint32_t *const *codes;          /* and what code each of them has, by id */
    const int64_t *ids_of;                 /* per group, how many ids */
    const uint32_t *const *own;            /* per column, the code of each tuple of the table */
    int64_t *agree, *places;               /* room for as many as there are codes, and ids */
} Lattice;

/* Tuples by the place of the lowest node at which they are like one; what agrees nowhere has places past the end. */
void discreet_around(const Tuples *t, const Lattice *l, int64_t row, int32_t *out) {
    int64_t stride = l->nodes, *agree = l->agree;
    for (int64_t j = 0; j < l->columns; j++) {
        const uint32_t code = l->own[j][row];
        stride /= l->heights[j];
        for (int64_t c = 0; c < l->sizes[j]; c++) {
            int64_t differ = 0;
            for (int64_t level = 0; level < l->heights[j]; level++)
                differ += l->standing[j][level][c] != l->standing[j][level][code];
            agree[c] = differ < l->heights[j] ? differ * stride : l->nodes;
        }
        agree += l->sizes[j];
    }
    int64_t *places = l->places, at = 0;
    for (int64_t g = 0; g < t->groups; g++) {
        for (int64_t id = 0; id < l->ids_of[g]; id++)
            places[id] = 0;
        for (int64_t n = 0; n < l->columns_of[g]; n++, at++) {
            const int64_t *agreed = l->agree;
            for (int64_t j = 0; j < l->column[at]; j++)
                agreed += l->sizes[j];
            for (int64_t id = 0; id < l->ids_of[g]; id++)
                places[id] += agreed[l->codes[at][id]];
        }
        places += l->ids_of[g];
    }
    for (int64_t tuple = 0; tuple < t->tuples; tuple++) {
        int64_t place = 0;
        const int64_t *of = l->places;
        for (int64_t g = 0; g < t->groups; g++) {
            place += of[t->ids[g][tuple]];
            of += l->ids_of[g];
        }
        if (place < l->nodes)
            out[place] += (int32_t)t->counts[tuple];
    }
}

/* Candidates. Levels are packed with a guard bit beside each: a subtraction tells whether a node is finer. */

typedef struct {
    int64_t count;
    int64_t *place;
    double *bound;
    int64_t *outer, *rest; /* where the parts of a bound stand, for each half of the columns */
    int64_t *packed;
    double *above, *below; /* two parts of a bound, or null */
    uint8_t *status;       /* per node */
    int64_t guards;
    /* what a look found */
    int64_t node_packed;
    const double *first, *second; /* per half, parts of a bound for finer nodes, or null */
    int64_t dead, times;
    double extra, more, ceiling;
    double last_ceiling; /* of the last call; infinite at first */
    int64_t settled;     /* rows with an infinite bound */
    int64_t next;        /* the place of the least bound, and that */
    double least;
} Candidates;

enum { LIVE, DEAD, COSTLY, DONE };

/* A row is settled: its bound is infinite from now on. */
static inline void settle(Candidates *c, int64_t row, uint8_t as) {
    if (c->status[c->place[row]] == LIVE)
        c->status[c->place[row]] = as;
    c->bound[row] = INFINITY;
    c->settled++;
}

/* Leave out settled rows, where they are many. */
static void shorten(Candidates *c) {
    const int64_t n = c->count;
    double *bound = c->bound;
    if (8 * c->settled <= n)
        return;
    int64_t left = 0;
    for (int64_t row = 0; row < n; row++) {
        if (bound[row] == INFINITY)
            continue;
        c->place[left] = c->place[row];
        bound[left] = bound[row];
        c->outer[left] = c->outer[row];
        c->rest[left] = c->rest[row];
        c->packed[left] = c->packed[row];
        if (c->above) {
            c->above[left] = c->above[row];
            c->below[left] = c->below[row];
        }
        left++;
    }
    c->count = left;
    c->settled = 0;
}

/* Nodes at which a person's class is below k suppress too much, where nobody may be suppressed: how many were not known. */
int64_t discreet_rule_out(Candidates *c, const int32_t *sizes, int64_t nodes, int64_t k) {
    int64_t fresh = 0;
    for (int64_t place = 0; place < nodes; place++)
        if (sizes[place] < k && c->status[place] == LIVE) {
            c->status[place] = DEAD;
            fresh++;
        }
    for (int64_t row = 0; fresh && row < c->count; row++)
        if (sizes[c->place[row]] < k && c->bound[row] != INFINITY)
            settle(c, row, DEAD);
    shorten(c);
    return fresh;
}

/* Take in what a look says of finer and coarser nodes. */
void discreet_learn(Candidates *c) {
    const int64_t guards = c->guards, packed = c->node_packed, most = packed | guards, n = c->count;
    const int64_t *own = c->packed;
    double *bound = c->bound;
    if (c->dead || c->first || c->extra != 0)
        for (int64_t row = 0; row < n; row++) {
            if (((most - own[row]) & guards) != guards || bound[row] == INFINITY)
                continue;
            if (c->dead) {
                settle(c, row, DEAD);
                continue;
            }
            double raised;
            if (c->first) {
                const double one = c->first[c->outer[row]], other = c->second[c->rest[row]];
                raised = c->times ? one * other : one + other;
            } else {
                c->below[row] = c->extra > c->below[row] ? c->extra : c->below[row];
                raised = c->above[row] + c->below[row];
            }
            bound[row] = raised > bound[row] ? raised : bound[row];
            if (bound[row] > c->ceiling)
                settle(c, row, COSTLY);
        }
    if (c->above)
        for (int64_t row = 0; row < n; row++) {
            if ((((own[row] | guards) - packed) & guards) != guards || bound[row] == INFINITY)
                continue;
            c->above[row] = c->more > c->above[row] ? c->more : c->above[row];
            const double raised = c->above[row] + c->below[row];
            bound[row] = raised > bound[row] ? raised : bound[row];
            if (bound[row] > c->ceiling)
                settle(c, row, COSTLY);
        }
    if (c->ceiling < c->last_ceiling)
        for (int64_t row = 0; row < n; row++)
            if (bound[row] > c->ceiling && bound[row] != INFINITY)
                settle(c, row, COSTLY);
    c->last_ceiling = c->ceiling;
    shorten(c);
}

/* The row of least bound, the first of equal ones; -1 if there is none. */
int64_t discreet_next(Candidates *c) {
    const double *bound = c->bound;
    const int64_t n = c->count;
    double lanes[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    int64_t row = 0;
    for (; row + 4 <= n; row += 4)
        for (int lane = 0; lane < 4; lane++)
            lanes[lane] = bound[row + lane] < lanes[lane] ? bound[row + lane] : lanes[lane];
    double least = INFINITY;
    for (int lane = 0; lane < 4; lane++)
        least = lanes[lane] < least ? lanes[lane] : least;
    for (; row < n; row++)
        least = bound[row] < least ? bound[row] : least;
    c->least = least;
    c->next = -1;
    if (least == INFINITY)
        return -1;
    for (row = 0; bound[row] != least; row++)
        ;
    c->next = c->place[row];
    return row;
}

/* A node suppresses so few; all coarser ones suppress no more. */
void discreet_fits(double *most, double suppressed, int64_t outers, const int64_t *outer, int64_t outer_guards, int64_t outer_part,
                   int64_t rests, const int64_t *rest, int64_t rest_guards, int64_t rest_part) {
    for (int64_t o = 0; o < outers; o++) {
        if ((((outer[o] | outer_guards) - outer_part) & outer_guards) != outer_guards)
            continue;
        double *row = most + o * rests;
        for (int64_t r = 0; r < rests; r++)
            if ((((rest[r] | rest_guards) - rest_part) & rest_guards) == rest_guards && row[r] > suppressed)
                row[r] = suppressed;
    }
}

typedef struct {
    int64_t columns;
    const int64_t *shape, *strides;
    const uint8_t *status;
    const double *most;
    const int32_t *crowd;
    const double *tables; /* per column and level, its part of what is expected */
    const int64_t *starts;
    double need, reach, enough;
    int64_t up;
    double score; /* out */
} Climb;

static double score_of(double expected, double need, double reach, int64_t crowd) {
    const double far = 0.5 + (expected - need) / reach;
    if (far <= 0)
        return 0.0;
    return far < 1 ? (double)crowd * (far * far * (3 - 2 * far)) : (double)crowd;
}

/* The place at the end of the way over neighbours as long as more candidates are likely to be ruled out. */
int64_t discreet_climb(Climb *c, int64_t place) {
    const int64_t step = c->up ? 1 : -1;
    const double reach = c->reach;
    double expected = 0;
    for (int64_t j = 0; j < c->columns; j++)
        expected += c->tables[c->starts[j] + place / c->strides[j] % c->shape[j]];
    double best = 1 + score_of(expected, c->need, reach, c->crowd[place] - 1);
    for (;;) {
        int64_t chosen = -1;
        double change = 0;
        for (int64_t j = 0; j < c->columns; j++) {
            const int64_t level = place / c->strides[j] % c->shape[j], beyond = level + step;
            if (beyond < 0 || beyond >= c->shape[j])
                continue;
            const int64_t there = place + step * c->strides[j];
            if (c->status[there] == DONE || (c->up && c->most[there] < c->enough))
                continue;
            const double *table = c->tables + c->starts[j];
            const double moved = table[beyond] - table[level];
            const double score = score_of(expected + moved, c->need, reach, c->crowd[there]);
            if (score > best) {
                best = score;
                chosen = j;
                change = moved;
            }
        }
        if (chosen < 0)
            break;
        expected += change;
        place += step * c->strides[chosen];
    }
    c->score = best;
    return place;
}

/* A prediction: least squares, improved look by look. A node has a constant, its bits, and one level per column. */

typedef struct {
    int64_t columns, features;
    const int64_t *starts; /* per column, its first level among the features */
    const double *bits;    /* per column and level */
    double *inverse, *weights, *moved, *gain, *tables;
    double spread;
    int64_t seen;
} Model;

/* How far predictions are off, as a rule: of the first few too much is to be learnt. */
static double spread_after(double spread, double off, int64_t seen) {
    if (seen <= 8)
        return spread;
    spread = sqrt(spread * spread * 0.9375 + off * off * 0.0625);
    return spread > 0.05 ? spread : 0.05;
}

/* Take in what a node at these levels came to. */
void discreet_observe(Model *m, const int64_t *levels, double value) {
    const int64_t n = m->features;
    const double *inverse = m->inverse;
    double *moved = m->moved, *weights = m->weights, bits = 0;
    for (int64_t j = 0; j < m->columns; j++)
        bits += m->bits[m->starts[j] + levels[j]];
    for (int64_t i = 0; i < n; i++)
        moved[i] = inverse[i] + bits * inverse[n + i];
    double expected = weights[0] + bits * weights[1];
    for (int64_t j = 0; j < m->columns; j++) {
        const int64_t at = 2 + m->starts[j] + levels[j];
        const double *row = inverse + at * n;
        for (int64_t i = 0; i < n; i++)
            moved[i] += row[i];
        expected += weights[at];
    }
    double scale = 1 + moved[0] + bits * moved[1];
    for (int64_t j = 0; j < m->columns; j++)
        scale += moved[2 + m->starts[j] + levels[j]];
    const double off = value - expected;
    for (int64_t i = 0; i < n; i++)
        m->gain[i] = moved[i] / scale;
    for (int64_t i = 0; i < n; i++) {
        double *row = m->inverse + i * n;
        const double gain = m->gain[i];
        for (int64_t o = 0; o < n; o++)
            row[o] -= gain * moved[o];
        weights[i] += gain * off;
    }
    for (int64_t i = 2; i < n; i++)
        m->tables[i - 2] = weights[0] / (double)m->columns + weights[1] * m->bits[i - 2] + weights[i];
    m->spread = spread_after(m->spread, off, ++m->seen);
}
