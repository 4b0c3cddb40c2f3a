# peers.gnuplot: draws what peers.c has written into build/peers, as SVG beside it.
#     gnuplot -e "dir='build/peers'" examples/storm/peers.gnuplot
if (!exists("dir")) dir = "build/peers"
set datafile separator tab
set encoding utf8
set terminal svg noenhanced font 'Helvetica,Arial,sans-serif,14' linewidth 2 background '#ffffff' size 900,420
set output dir."/peers.svg"
set border 3 linecolor rgb "#666666"
set tics nomirror textcolor rgb "#222222"
set grid ytics linecolor rgb "#dddddd"
set style fill solid noborder
set yrange [0:107]
set ytics 0, 20, 100 format "%g %%"
set xrange [-0.6:6.6]
set xtics font ',12'
set tmargin 8.2
set key at screen 0.09, 0.88 left top vertical reverse Left samplen 1 textcolor rgb "#222222"
set title "How many operations succeed: while a server fails, after that, and when nothing fails?" \
    offset 0, 5.8 textcolor rgb "#222222"
file = dir."/peers.tsv"
array side[4] = [-0.315, -0.105, 0.105, 0.315]
array colour[4] = [0x0072b2, 0x56b4e9, 0xe69f00, 0x999999]
array what[4] = ["begun in 10 s of trouble: mean of 13 faults, 4 loads, 3 servers, 1, 20 or 1,000 processes", \
    "begun in the 30 s after that", \
    "begun in 2 s of 503, by one process with an operation a second, of 10 s at most", \
    "begun when nothing fails, by one process with 250 operations a second, which take 200 ms each"]
plot for [i = 1:4] file using ($0 + side[i]):(column(i + 1)):(0.2) with boxes \
        linecolor rgb colour[i] title what[i], \
    for [i = 1:4] file using ($0 + side[i]):(column(i + 1) + 3):(sprintf("%.0f", column(i + 1))) \
        with labels font ',11' textcolor rgb "#222222" notitle, \
    file using 0:(0):xtic(1) with dots notitle
