# storm.gnuplot: draws what storm.c has written into build/plots, as PNG and SVG beside it.
#     gnuplot examples/storm/storm.gnuplot
#     gnuplot -e "dir='elsewhere'" examples/storm/storm.gnuplot
if (!exists("dir")) dir = "build/plots"
recovery = dir."/recovery.tsv"
bears = dir."/bears.tsv"
contention = dir."/contention.tsv"
article = dir."/article.tsv"
bucket = dir."/bucket.tsv"
spikes = dir."/spikes.tsv"
hedging = dir."/hedging.tsv"

# Colours that stay apart for the colour-blind (Okabe and Ito), and greys.
red = "#d55e00"; orange = "#e69f00"; purple = "#cc79a7"; blue = "#0072b2"; sky = "#56b4e9"
green = "#009e73"; black = "#222222"; grey = "#666666"; light = "#bbbbbb"; pale = "#eeeeee"

set datafile separator tab
set datafile missing "-"
set encoding utf8
set border 3 linecolor rgb grey
set tics nomirror textcolor rgb black
set grid ytics linecolor rgb "#dddddd"
set style data lines
set samples 2
set key noautotitle reverse Left samplen 2 spacing 1.3 textcolor rgb black

stats dir."/outage.tsv" using 1 nooutput
fails = STATS_max
stats dir."/outage.tsv" using 2 nooutput
works = STATS_max
stats dir."/outage.tsv" using 3 nooutput
utilisation = STATS_max
stats dir."/outage.tsv" using 4 nooutput
sharing = STATS_max < 1000 ? sprintf("%d", STATS_max) : \
    sprintf("%d,%03d", STATS_max / 1000, int(STATS_max) % 1000)
own = system("grep -c '^yours' ".bears) > 0
mine = own ? "yours" : "none"

# Once as PNG, once as SVG; a white ground, so that both can be read on a dark page.
png = "pngcairo noenhanced font 'DejaVu Sans,11' linewidth 2 background '#ffffff' size "
svg = "svg noenhanced font 'Helvetica,Arial,sans-serif,14' linewidth 2 background '#ffffff' size "

do for [kind in "png svg"] {
    terminal = "set terminal ".(kind eq "png" ? png : svg)

    # ---- A retry storm: a column for each policy; load, answers in time, and who failed ----
    eval terminal."900,520"
    set output dir."/recovery.".kind
    array shown = ["no retry", "best effort", "3 attempts", "a budget each", own ? "yours" : "a shared budget"]
    array first = ["", "retries without", "3 attempts,", "a budget for", own ? "" : "a budget shared"]
    array then = ["no retries", "a budget", "no budget", "each client", own ? "yours" : "by ".sharing." clients"]
    array line = [grey, red, orange, purple, green]
    stays_down(name) = system(sprintf("awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"%s goodput\") k = i; next }" \
        ." $1 > %g { n++; sum += $k } END { print sum / n < 0.5 }' %s", name, works + 20, recovery)) eq "1"
    failed(what, name) = system(sprintf("grep '^%s' %s/failed.tsv | grep '\t%s\t' | cut -f 3", what, dir, name))
    set multiplot
    set xrange [0:works + 30]
    set xtics 0, 20
    set object 1 rectangle from first fails, graph 0 to first works, graph 1 behind \
        fillcolor rgb "#dddddd" fillstyle solid noborder
    do for [i=1:5] {
        left = 0.155 + (i - 1) * 0.17
        middle = left + 0.072
        set lmargin at screen left
        set rmargin at screen left + 0.144
        set tmargin at screen 0.82
        set bmargin at screen 0.56
        set yrange [0:9]
        set ytics 0, 2
        set format x ""
        if (i == 1) {
            set label 1 sprintf("A service that is %.0f %% busy fails for %.3g s (grey). What comes after?", \
                utilisation, works - fails) at screen 0.5, 0.97 center
            set label 2 "calls\n(× normal;\ndashed: all\nit can do)" at screen 0.01, 0.74 left textcolor rgb black
            set label 3 "answers\nin time\n(% of normal)" at screen 0.01, 0.43 left textcolor rgb black
            set label 9 "time (s)" at screen 0.01, 0.22 left textcolor rgb black
            set label 4 "operations\nthat failed" at screen 0.01, 0.16 left textcolor rgb black
            set label 5 "and if it fails\nfor only 0.5 s" at screen 0.01, 0.07 left textcolor rgb black
        } else {
            unset label
            set format y ""
        }
        set label 6 first[i]."\n".then[i] at screen middle, 0.905 center textcolor rgb line[i]
        set label 7 sprintf("%.0f %% failed", real(failed("The outage", shown[i]))) at screen middle, 0.135 center \
            textcolor rgb line[i]
        set label 8 sprintf("%.1f %%", real(failed("A blip", shown[i]))) at screen middle, 0.055 center \
            textcolor rgb line[i]
        plot recovery using 1:shown[i]." load" linecolor rgb line[i], \
            100.0 / utilisation linecolor rgb grey dashtype 2 linewidth 0.7
        unset label
        set tmargin at screen 0.52
        set bmargin at screen 0.26
        set yrange [0:180]
        set ytics 0, 50
        set format x "%g"
        if (stays_down(shown[i])) {
            set label 10 "stays\ndown" at first works + 15, 100 center textcolor rgb line[i]
        }
        plot recovery using 1:(100 * column(shown[i]." goodput")) linecolor rgb line[i]
        unset label
    }
    unset multiplot
    unset object 1
    set format
    set tmargin
    set bmargin
    set lmargin
    set rmargin

    # ---- The highest utilisation that comes back, as bars ----
    eval terminal."900,380"
    set output dir."/bears.".kind
    set title sprintf("How busy may a service be, if it is to recover from %.3g s of failure?", works - fails) offset 0, 0.9
    set xlabel "how busy it was before the outage (%)"
    unset ylabel
    set xrange [0:100]
    set xtics 0, 20
    set yrange [* : *] reverse
    set ytics autofreq scale 0
    unset grid
    set grid xtics linecolor rgb "#dddddd"
    set lmargin 20
    set tmargin 4
    set style fill solid noborder
    set arrow 1 from first utilisation, graph 0 to first utilisation, graph 1 nohead \
        linecolor rgb black dashtype 2 front
    set label 1 sprintf("%d %% busy", utilisation) at first utilisation, graph 1.055 center \
        textcolor rgb grey
    colour(x) = x >= utilisation ? 0x009e73 : 0xd55e00
    plot bears using (0):0:(0):2:($0 - 0.36):($0 + 0.36):(colour($2)):ytic(1) \
            with boxxyerror linecolor rgb variable, \
        "" using 2:0:(sprintf("%d", $2)) with labels left offset 0.5, 0
    unset arrow 1
    unset label 1
    unset grid
    set grid ytics linecolor rgb "#dddddd"
    set yrange [*:*] noreverse
    set ytics autofreq nomirror scale 1
    set lmargin
    set tmargin

    # ---- Calls after a common failure, in bins of 10 ms ----
    eval terminal."900,460"
    set output dir."/spikes.".kind
    unset title
    array jitters = ["none", "equal", "full", "decorrelated", "yours"]
    array paint = [red, orange, blue, green, black]
    rows = own ? 5 : 4
    set multiplot
    set xrange [-0.02:2]
    set xtics 0, 0.5
    set yrange [0:10500]
    set ytics 0, 5000
    unset ylabel
    unset xlabel
    set boxwidth 0.01
    set label 11 "10,000 clients that failed together: calls in each 10 ms" at screen 0.5, 0.96 center
    do for [i=1:rows] {
        set lmargin at screen 0.1
        set rmargin at screen 0.97
        set tmargin at screen 0.92 - (i - 1) * 0.82 / rows
        set bmargin at screen 0.92 - (i - 0.17) * 0.82 / rows
        set label 10 (i == 1 ? "no jitter" : jitters[i].(i < 4 ? " jitter" : "")) \
            at graph 0.98, 0.8 right textcolor rgb paint[i]
        set format x (i == rows ? "%g" : "")
        if (i == rows) { set xlabel "time after the failure (s)" offset 0, 0.3 }
        plot spikes using ($1 + 0.005):jitters[i] with boxes linecolor rgb paint[i]
        unset label 11
    }
    unset multiplot
    unset label
    unset xlabel
    set format
    set lmargin
    set rmargin
    set tmargin
    set bmargin
    set xtics autofreq
    set ytics autofreq

    # ---- Hedging: tail latency against extra load, normally and when all is late ----
    eval terminal."900,420"
    set output dir."/hedging.".kind
    set title "A second copy of late attempts: the latency that it saves, the load that it adds"
    set xlabel "extra load (%)"
    set ylabel "latency at 99 % (ms)"
    set logscale y
    set xrange [-4:106]
    set yrange [30:2000]
    set ytics (50, 100, 200, 500, 1000)
    set key at graph 0.98, 0.62 right top
    array hedgepaint = [black, green, blue, red]
    array hedgesize = [1.3, 1.1, 2.1, 1.3]
    array hedgeorder = [1, 3, 2, 4] # the larger one behind
    hedge_name(i) = system(sprintf("sed -n '%dp' ".hedging." | cut -f 1", i + 1))
    plot for [i=1:4] hedging using 2:3:($4 - $2):($5 - $3) every ::i::i with vectors \
            linecolor rgb hedgepaint[i] dashtype 3, \
        for [n=1:4] i=hedgeorder[n] "" using 2:3 every ::i::i with points pointtype 7 \
            pointsize hedgesize[i] linecolor rgb hedgepaint[i] title hedge_name(i), \
        for [i=1:4] "" using 4:5 every ::i::i with points pointtype 6 pointsize 1.3 \
            linecolor rgb hedgepaint[i], \
        NaN with points pointtype 6 pointsize 1.3 linecolor rgb grey \
            title "the same, while all answers are 200 ms late"
    unset logscale y
    set ytics autofreq

    # ---- Contention: time on the left, writes on the right ----
    eval terminal."900,400"
    set output dir."/contention.".kind
    set multiplot
    set ytics autofreq nomirror textcolor rgb black
    set xrange [0:103]
    set xtics 0, 20
    set xlabel "clients that write the same row"
    set logscale y 10
    set tmargin at screen 0.88
    set bmargin at screen 0.15

    set lmargin at screen 0.125
    set rmargin at screen 0.38
    set title "Time until all have written"
    set ylabel "time (ms)"
    set yrange [300:100000]
    set key at screen 0.81, screen 0.88 left top
    plot contention using "clients":"none time" title "no backoff" linecolor rgb red, \
        "" using "clients":"exponential time" title "exponential" linecolor rgb purple, \
        "" using "clients":"equal time" title "equal jitter" linecolor rgb orange, \
        "" using "clients":"full time" title "full jitter" linecolor rgb blue, \
        "" using "clients":"decorrelated (AWS) time" title "decorrelated" \
            linecolor rgb green, \
        "" using "clients":"BEST_EFFORT time" title "best effort" \
            linecolor rgb black dashtype 2, \
        for [i=1:own] "" using "clients":(column(mine." time")) title "yours" linecolor rgb sky, \
        for [i=0:4] article using 1:(column(2 + 2 * i)) with points pointtype 6 \
            linecolor rgb word(red." ".purple." ".orange." ".blue." ".green, i + 1), \
        NaN with points pointtype 6 linecolor rgb grey title "AWS's simulator"

    set lmargin at screen 0.495
    set rmargin at screen 0.79
    set title "Writes tried"
    set ylabel "writes, all clients together"
    set yrange [10:5000]
    unset key
    plot contention using "clients":"none writes" linecolor rgb red, \
        "" using "clients":"exponential writes" linecolor rgb purple, \
        "" using "clients":"equal writes" linecolor rgb orange, \
        "" using "clients":"full writes" linecolor rgb blue, \
        "" using "clients":"decorrelated (AWS) writes" linecolor rgb green, \
        "" using "clients":"BEST_EFFORT writes" linecolor rgb black dashtype 2, \
        for [i=1:own] "" using "clients":(column(mine." writes")) linecolor rgb sky, \
        for [i=0:4] article using 1:(column(3 + 2 * i)) with points pointtype 6 \
            linecolor rgb word(red." ".purple." ".orange." ".blue." ".green, i + 1)
    unset multiplot

    # ---- A bucket against a failure rate ----
    eval terminal."700,420"
    set output dir."/bucket.".kind
    set lmargin
    set rmargin
    set tmargin
    set bmargin
    unset logscale
    set xrange [0:100]
    set xtics autofreq
    set yrange [0.9:4.1]
    set ytics autofreq
    set xlabel "attempts that fail (%)"
    set ylabel "load (attempts per call)"
    set title "Up to three retries of a call, paid for by a budget of 50 tokens"
    set key noautotitle at graph 0.05, graph 0.92 left top
    plot bucket using "rate":"none" title "no budget" linecolor rgb light linewidth 4, \
        "" using "rate":"10" title "a budget for 10 calls" linecolor rgb red dashtype 2, \
        "" using "rate":"100" title "a budget for 100 calls" linecolor rgb orange, \
        "" using "rate":"1000" title "a budget for 1,000 calls" linecolor rgb sky, \
        "" using "rate":"100000" title "a budget for 100,000 calls" linecolor rgb blue, \
        for [i=1:own] "" using "rate":(column(mine)) title "your budget, for 100,000 calls" linecolor rgb black
    unset title
    unset xlabel
    unset ylabel
    set key noautotitle
}
