/* What tokens have to do, in a bucket of their own or in a budget: withdrawals, deposits, and a
   model of what comes in by time. Include it after retry.h. */
#ifndef TOKENS_H
#define TOKENS_H

static const struct {
    uint32_t capacity, floor, balance, cost;
    bool granted;
} withdrawals[] = {
    {9000, 0, 9000, 1000, true},
    {9000, 0, 1000, 1000, true},
    {9000, 0, 999, 1000, false},
    {9000, 0, 0, 1, false},
    {9000, 0, 0, 0, true},
    {9000, 0, 9000, 9001, false},
    {9000, 0, 9000, 0, true},
    {9000, 0, 9000, UINT32_MAX, false},
    {9000, 5000, 9000, 3999, true},
    {9000, 5000, 9000, 4000, false},
    {9000, 5000, 9000, 4001, false},
    {9000, 5000, 9000, UINT32_MAX, false},
    {9000, 5000, 5001, 0, true},
    {9000, 5000, 5000, 0, false},
    {9000, 5000, 100, 100, false},
    {9000, 5000, 0, 0, false},
    {9000, 9000, 9000, 0, false},
    {9000, UINT32_MAX, 9000, 0, false},
    {1, 0, 1, 1, true},
    {1, 0, 1, 2, false},
    {1, 1, 1, 0, false},
    {UINT32_MAX, 0, UINT32_MAX, UINT32_MAX, true},
    {UINT32_MAX, 0, UINT32_MAX - 1, UINT32_MAX, false},
    {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, 0, true},
    {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX, 1, false},
    {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, false},
    {9000, 5000, 100, 0, false},
    {9000, UINT32_MAX, 9000, 1, false},
    {0, 0, 0, 0, false},
};

static const struct {
    uint32_t capacity, balance, amount, expected;
} deposits[] = {
    {9000, 0, 0, 0},
    {9000, 0, 1, 1},
    {9000, 8000, 999, 8999},
    {9000, 8000, 1000, 9000},
    {9000, 8000, 1001, 9000},
    {9000, 8000, UINT32_MAX, 9000},
    {9000, 9000, 0, 9000},
    {9000, 9000, UINT32_MAX, 9000},
    {1, 0, 1, 1},
    {1, 0, UINT32_MAX, 1},
    {UINT32_MAX, 5, UINT32_MAX, UINT32_MAX},
    {UINT32_MAX, 5, UINT32_MAX - 5, UINT32_MAX},
    {UINT32_MAX, 5, UINT32_MAX - 6, UINT32_MAX - 1},
};

/* Tokens in millionths and in 64 bits. */
struct model {
    uint64_t level, capacity;
    uint32_t rate;
};

static inline struct model model_of(uint32_t capacity, uint32_t rate, uint32_t balance)
{
    struct model model;
    model.level = (uint64_t)balance * 1000;
    model.capacity = (uint64_t)capacity * 1000;
    model.rate = rate;
    return model;
}

static inline void model_add(struct model *model, uint64_t millionths)
{
    uint64_t room = model->capacity - model->level;
    model->level += millionths < room ? millionths : room;
}

static inline void model_pass(struct model *model, retry_ms elapsed)
{
    model_add(model, (uint64_t)model->rate * elapsed);
}

static inline bool model_withdraw(struct model *model, uint32_t cost, uint32_t floor)
{
    uint64_t held = model->level / 1000;
    if (cost > held || (floor != 0 && held - cost <= floor))
        return false;
    model->level -= (uint64_t)cost * 1000;
    return true;
}

#endif
