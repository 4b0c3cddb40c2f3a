# peers.gnuplot: draws what peers.c has written into build/peers, as SVG beside it.
#     gnuplot -e "dir='build/peers'" examples/storm/peers.gnuplot
if (!exists("dir")) dir = "build/peers"
set datafile separator tab
set encoding utf8
set terminal svg noenhanced font 'Helvetica,Arial,sans-serif,14' linewidth 2 background '#ffffff' size 900,330
set output dir."/peers.svg"
set border 3 linecolor rgb "#666666"
set tics nomirror textcolor rgb "#222222"
set grid ytics linecolor rgb "#dddddd"
set style fill solid noborder
set yrange [0:100]
set ytics 0, 20 format "%g %%"
set xrange [-0.6:5.6]
set key above left reverse Left samplen 1 textcolor rgb "#222222"
set title "Operations done, mean of 468 cells: 13 faults of 10 s, four loads, three fleets, three servers" \
    textcolor rgb "#222222"
plot dir."/peers.tsv" using ($0 - 0.2):2:(0.36):xtic(1) with boxes linecolor rgb "#0072b2" \
        title "begun in the fault", \
    "" using ($0 + 0.2):3:(0.36) with boxes linecolor rgb "#56b4e9" title "begun in the 30 s after it", \
    "" using ($0 - 0.2):($2 + 4):(sprintf("%.0f", $2)) with labels textcolor rgb "#222222" notitle, \
    "" using ($0 + 0.2):($3 - 4):(sprintf("%.0f", $3)) with labels textcolor rgb "#222222" notitle
