/* storm.c: what retrying does to a service, simulated with the real retry.h.

       make storm ARGS='--policy "aws attempts=4" --budget aws --utilisation 60'

   sets a policy and a budget of your own beside the presets of retry.h. What to take comes first,
   then two tables. -v shows all of the seven parts:

   1. Contention: clients that write one row under optimistic locking, with the backoffs of AWS's
      article on jitter (and its numbers beside), and with retry.h's presets.
   2. Retry storms: clients of a service that is out of order in one of several ways. How much load
      do they make, when is the service back, how busy may it be, and what do its users see?
   3. A retry budget at a steady failure rate, simulated and by arithmetic, and layers that each
      retry.
   4. The gates: best effort behind breakers, a throttle, an adaptive rate, an AIMD limit.
   5. A fleet to which the same befell at the same instant, with and without jitter.
   6. Hedging: what a second copy saves and what it costs.
   7. Which of the gates to take, by the matrix of `make together`.

   `--help` lists the options, each with its default. The tables go to standard output, the
   pictures' data to a folder (storm.gnuplot draws them); the same options and seed give the same
   bytes of both. Progress goes to standard error. The retrying itself is in world.h. */
#define _DEFAULT_SOURCE
#define RETRY_IMPLEMENTATION
#include "../../retry.h"

#include "advice.h"
#include "article.h"
#include "bucket.h"
#include "fleet.h"
#include "hedge.h"
#include "outages.h"

#include <sys/resource.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int count, char **arguments)
{
    options chosen;
    struct rusage used;
    if (count > 0)
        program = base_name(arguments[0]);
    chosen = read_options(arguments + (count > 0));
    make_folder(chosen.data);
    data_done(data_file(&chosen, "bears.tsv")); /* what cannot be written is said at once */
    progress_work.planned = contention_work(&chosen) + storms_work(&chosen) + hedge_work(&chosen);
    advice_answer(&chosen);
    show(&chosen, false);
    contention_part(&chosen);
    outages_part(&chosen);
    bucket_part(&chosen);
    gates_part(&chosen);
    fleet_part(&chosen);
    hedge_part(&chosen);
    advice_part(&chosen);
    show(&chosen, true);
    if (!chosen.verbose)
        printf("\nWhat is behind this, in seven parts: -v.\n");
    if (missed)
        printf("\n%" PRIu32 " numbers MISSED their tolerance.\n", missed);
    if (fflush(stdout) != 0)
        refuse("cannot write the tables: %s", strerror(errno));
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr, "%s: %.1f s of processor time, the longest simulation %.1f s; %.0f MB\n",
            program, (double)clock() / CLOCKS_PER_SEC, longest, (double)used.ru_maxrss / 1024);
    return missed ? 1 : 0;
}
