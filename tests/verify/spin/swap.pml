/* A compare-and-swap: retry__swap of retry.h, which returns whether the word still was what was seen, and
   else what it is. With BROKEN it is the load and the store that a compiler would make of it without
   atomics: each model must find the fault then. All threads see what the others do in one order, as
   retry.h's atomics promise. */
inline swap(word_, seen_, next_, ok_)
{
#ifdef BROKEN
    word_ = next_;
    ok_ = true
#else
    d_step {
        if
        :: word_ == seen_ -> word_ = next_; ok_ = true
        :: else -> seen_ = word_; ok_ = false
        fi
    }
#endif
}
