# storm.gnuplot: draws what storm.c has written into build/storm, as PNG and SVG beside it.
#     gnuplot examples/storm/storm.gnuplot
#     gnuplot -e "dir='elsewhere'" examples/storm/storm.gnuplot
if (!exists("dir")) dir = "build/storm"
recovery = dir."/recovery.tsv"
contention = dir."/contention.tsv"
article = dir."/article.tsv"
bucket = dir."/bucket.tsv"

# Colours that stay apart for the colour-blind (Okabe and Ito), and greys.
red = "#d55e00"; orange = "#e69f00"; purple = "#cc79a7"; blue = "#0072b2"; sky = "#56b4e9"
green = "#009e73"; black = "#222222"; grey = "#666666"

set datafile separator tab
set encoding utf8
set border 3 linecolor rgb grey
set tics nomirror textcolor rgb black
set grid ytics linecolor rgb "#dddddd"
set style data lines
set key noautotitle reverse Left samplen 2 spacing 1.3 textcolor rgb black

# Once as PNG, once as SVG; a white ground, so that both can be read on a dark page.
png = "pngcairo noenhanced font 'DejaVu Sans,11' linewidth 2 background '#ffffff' size "
svg = "svg noenhanced font 'Helvetica,Arial,sans-serif,14' linewidth 2 background '#ffffff' size "

do for [kind in "png svg"] {
    terminal = "set terminal ".(kind eq "png" ? png : svg)

    # ---- A retry storm: load above, goodput below ----
    eval terminal."900,620"
    set output dir."/recovery.".kind
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.73
    set xrange [5:60]
    set xtics 5, 5
    set object 1 rectangle from first 10, graph 0 to first 20, graph 1 behind \
        fillcolor rgb "#eeeeee" fillstyle solid noborder

    set tmargin at screen 0.92
    set bmargin at screen 0.52
    set title "A service that fails for ten seconds, and what its clients make of it"
    set ylabel "load (attempts, × normal)"
    set logscale y 2
    set yrange [0.7:32]
    set format x ""
    set label 1 "service fails" at first 15, graph 0.94 center textcolor rgb grey
    set label 2 "capacity" at first 59.5, first 2.9 right textcolor rgb grey
    set key at screen 0.745, screen 0.92 left top
    plot recovery using 1:"naive loop load" title "naive loop" linecolor rgb red, \
        "" using 1:"five layers, 3 tries load" title "five layers, 3 tries each" \
            linecolor rgb purple, \
        "" using 1:"best effort load" title "best effort" linecolor rgb orange, \
        "" using 1:"one layer, 3 tries load" title "one layer, 3 tries" linecolor rgb sky, \
        "" using 1:"best effort + budget load" title "best effort + budget" linecolor rgb green, \
        "" using 1:"AWS standard load" title "AWS standard" linecolor rgb blue, \
        "" using 1:"gRPC throttling load" title "gRPC throttling" linecolor rgb black, \
        2.5 linecolor rgb grey dashtype 2

    set tmargin at screen 0.47
    set bmargin at screen 0.1
    unset title
    unset logscale y
    unset label 1
    unset label 2
    unset key
    set format x
    set xlabel "time (s)"
    set ylabel "goodput (% of normal)"
    set yrange [-4:260]
    set ytics 0, 50
    set label 3 "one layer, and all with a budget" at first 40, first 122 center \
        textcolor rgb grey
    set label 4 "naive loop, five layers, best effort: none" \
        at first 40, first 20 center textcolor rgb grey
    plot recovery using 1:(100 * column("naive loop goodput")) linecolor rgb red, \
        "" using 1:(100 * column("five layers, 3 tries goodput")) linecolor rgb purple, \
        "" using 1:(100 * column("best effort goodput")) linecolor rgb orange, \
        "" using 1:(100 * column("one layer, 3 tries goodput")) linecolor rgb sky, \
        "" using 1:(100 * column("best effort + budget goodput")) linecolor rgb green, \
        "" using 1:(100 * column("AWS standard goodput")) linecolor rgb blue, \
        "" using 1:(100 * column("gRPC throttling goodput")) linecolor rgb black
    unset multiplot
    unset object 1
    unset label
    set ytics autofreq
    set key noautotitle reverse Left samplen 2 spacing 1.3

    # ---- Contention: time on the left, writes on the right ----
    eval terminal."900,400"
    set output dir."/contention.".kind
    set multiplot
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
        for [i=0:4] article using 1:(column(3 + 2 * i)) with points pointtype 6 \
            linecolor rgb word(red." ".purple." ".orange." ".blue." ".green, i + 1)
    unset multiplot

    # ---- A bucket against a failure rate ----
    eval terminal."700,400"
    set output dir."/bucket.".kind
    set lmargin
    set rmargin
    set tmargin
    set bmargin
    unset logscale y
    set xrange [0:100]
    set yrange [0.9:4.1]
    set xlabel "attempts that fail (%)"
    set ylabel "load (attempts per call)"
    set title "Up to three retries, with and without a bucket that pays for them"
    set key noautotitle at graph 0.05, graph 0.92 left top
    plot bucket using "rate":"without" title "without a bucket" linecolor rgb red, \
        "" using "rate":"with a bucket" title "with a bucket" linecolor rgb blue
    unset title
    unset xlabel
    set key noautotitle
}
