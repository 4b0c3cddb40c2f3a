# peers.gnuplot: draws what peers.c has written into build/peers, as SVG beside it.
#     gnuplot -e "dir='build/peers'" examples/storm/peers.gnuplot
if (!exists("dir")) dir = "build/peers"
set datafile separator tab
set encoding utf8
set terminal svg noenhanced font 'Helvetica,Arial,sans-serif,14' linewidth 2 background '#ffffff' size 900,400
set output dir."/peers.svg"
set border 3 linecolor rgb "#666666"
set tics nomirror textcolor rgb "#222222"
set grid ytics linecolor rgb "#dddddd"
set style fill solid noborder
set yrange [0:107]
set ytics 0, 20, 100 format "%g %%"
set xrange [-0.6:6.6]
set xtics font ',12'
set tmargin 7
set key at screen 0.09, 0.87 left top vertical reverse Left samplen 1 textcolor rgb "#222222"
set title "A server fails for some seconds. How many operations of its callers succeed?" \
    offset 0, 4.6 textcolor rgb "#222222"
file = dir."/peers.tsv"
array side[3] = [-0.27, 0, 0.27]
array colour[3] = [0x0072b2, 0x56b4e9, 0xe69f00]
array what[3] = ["begun in 10 s of trouble: mean of 13 faults, 4 loads, 3 servers, 1, 20 or 1,000 processes", \
    "begun in the 30 s after that", \
    "begun in 2 s of 503, by one process with an operation a second, of 10 s at most"]
plot for [i = 1:3] file using ($0 + side[i]):(column(i + 1)):(0.25) with boxes \
        linecolor rgb colour[i] title what[i], \
    for [i = 1:3] file using ($0 + side[i]):(column(i + 1) + 3):(sprintf("%.0f", column(i + 1))) \
        with labels textcolor rgb "#222222" notitle, \
    file using 0:(0):xtic(1) with dots notitle
