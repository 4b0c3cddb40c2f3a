# retry.h and errmap.h: `make help` lists the targets.

CC = cc
STD = c99
OPT = -O1
DEFINES =
BUILD = build
SUBJECT =
SEED =
SEEDS = 200
SERVER = scripted
VERBOSE =
ARGS =
FUNCTION =
SECTION =
RENEW =
PREFIX = /usr/local
PARTS =
KERNEL =
OUT =
DESTDIR =
ALL =

export CC BUILD
export CHECK_SEED = $(SEED)
# Warnings of gcc and clang are errors; what others warn of is not known.
export WERROR := $(if $(shell $(CC) --version 2> /dev/null | grep -e 'Free Software Foundation' -e clang),-Werror)
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef \
	$(WERROR)
LANGUAGE = $(if $(findstring ++,$(STD)),-x c++) -std=$(STD)
HEADERS = retry.h errmap.h
# On a terminal the seconds count while a command is silent.
ALIVE = sh tests/tools/alive.sh
# All cores build, unless -j says how many.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES))
CORES ?= $(shell getconf _NPROCESSORS_ONLN)

# The Debian packages that a target needs; $(need), in its recipe, installs those that are missing, and says so.
need = @sh tests/tools/deps.sh $(PACKAGES_$@)
PACKAGES_jsmn = libjsmn-dev
PACKAGES_test = libjsmn-dev procps
PACKAGES_check = libjsmn-dev
PACKAGES_seeds = libjsmn-dev
PACKAGES_units = libjsmn-dev g++
PACKAGES_demo = $(filter memcached,$(SERVER))
PACKAGES_recipes = libcurl4-openssl-dev libmariadb-dev libpq-dev mariadb-client-core mariadb-server-core memcached nginx-light openssl postgresql procps redis-server
PACKAGES_http = libcurl4-openssl-dev nginx-light curl procps
PACKAGES_redis = libhiredis-dev redis-server procps
PACKAGES_mqtt = libmosquitto-dev mosquitto procps
PACKAGES_lwip = liblwip-dev procps
PACKAGES_guarded = libcurl4-openssl-dev nginx-light procps
PACKAGES_async = libuv1-dev
PACKAGES_frozen = libuv1-dev
PACKAGES_storm = gnuplot-nox
PACKAGES_metrics = prometheus
PACKAGES_page = clang-14 lld-14
PACKAGES_firmware = gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm
PACKAGES_freertos = $(if $(KERNEL),$(PACKAGES_firmware))
PACKAGES_idf = gcc-xtensa-lx106 picolibc-xtensa-lx106-elf cmake python3-minimal
PACKAGES_arduino = arduino-core-avr arduino-builder libsimavr-dev zip unzip
PACKAGES_$(BUILD)/retry-arduino.zip = zip
PACKAGES_test-recipes = $(PACKAGES_recipes) g++
PACKAGES_test-examples = $(sort $(foreach name,test http redis mqtt lwip guarded async storm metrics \
	page firmware idf arduino,$(PACKAGES_$(name))) chromium g++ git meson ninja-build pkg-config python3 sdcc)
PACKAGES_size = libjsmn-dev gcc-arm-none-eabi picolibc-arm-none-eabi
PACKAGES_bench = libjsmn-dev g++ valgrind libcjson-dev libjansson-dev libjson-c-dev rapidjson-dev \
	$(PACKAGES_firmware)
PACKAGES_figures = $(PACKAGES_bench) $(PACKAGES_http) $(PACKAGES_storm)
PACKAGES_fuzz = libjsmn-dev clang libclang-rt-14-dev afl++
PACKAGES_lint = libjsmn-dev clang clang-format clang-tidy clang-tools cppcheck shellcheck
PACKAGES_stress = clang libclang-rt-14-dev spin
PACKAGES_mutants = libjsmn-dev python3
PACKAGES_coverage = libjsmn-dev clang-19 llvm-19 libclang-rt-19-dev
PACKAGES_prove = libjsmn-dev frama-c-base why3 z3 cvc4
PACKAGES_symbols = libjsmn-dev g++ clang-19 gcc-arm-none-eabi picolibc-arm-none-eabi
PACKAGES_matrix = libjsmn-dev gcc-12-multilib g++-12-multilib gcc-11 g++-11 clang-13 clang-14 clang-19 tcc
PACKAGES_bare = debootstrap
PACKAGES_cross = libjsmn-dev $(foreach target,$(TARGETS),$(PACKAGES_$(target)))
PACKAGES_cortex-m0 = $(PACKAGES_firmware)
PACKAGES_cortex-m3 = $(PACKAGES_firmware)
PACKAGES_avr = gcc-avr avr-libc libsimavr-dev
PACKAGES_rv32 = gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc
PACKAGES_s390x = gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user
PACKAGES_powerpc = gcc-powerpc-linux-gnu libc6-dev-powerpc-cross qemu-user
PACKAGES_windows-64 = gcc-mingw-w64-x86-64 clang-19 wine wine64
PACKAGES_windows-32 = gcc-mingw-w64-i686 wine wine64
PACKAGES_tcc = tcc
PACKAGES_packages = $(sort $(foreach name,test-recipes test-examples figures $(VERIFY),$(PACKAGES_$(name))))

# Examples of one file that run by themselves; on a real server that tests/examples/NAME.sh breaks;
# and the recipes, each with its own server in tests/examples/recipe_NAME.sh.
RUN = quickstart by_hand custom_strategy alone outage sleep nodes
SERVED = redis mqtt lwip
RECIPES = http batch transaction locked reconnect nodes hedge rate fleet shared loop delay

VERIFY = matrix symbols bare cross coverage prove stress lint fuzz

.PHONY: FORCE help $(RUN) demo test run-tests $(SERVED) recipes http guarded async frozen storm page together peers \
	metrics firmware freertos idf arduino arduino-zip install install-retry uninstall cut check seeds units test-recipes test-examples run-examples \
	fuzz size bench figures packages verify $(VERIFY) mutants jsmn clean
.DEFAULT_GOAL := help

# "## GROUP | TIME | TEXT" behind a target is what help shows.
help:
	@awk -F ':.*## | [|] ' -v all="$(ALL)" ' \
		/^[a-z_-]+:.*## [1-5] [|]/ { \
			line[$$2] = line[$$2] sprintf("  make %-15s %6s  %s\n", $$1, $$3, $$4) } \
		END { printf "To begin with\n%s\nTo take it into your program\n%s", line[1], line[2]; \
			if (all == "") { print "\nmake help ALL=1: all other examples and checks"; exit } \
			printf "\nMore examples (make build/NAME builds examples/NAME.c alone)\n%s", line[3]; \
			printf "\nWhen you change something\n%s", line[4]; \
			printf "\nEverything else that is checked\n%s", line[5]; \
			printf "\nMissing Debian packages are installed by apt, as root or by sudo. On a\n" \
				"terminal examples ask first (YES=1: they do not).\n" }' Makefile

quickstart: ## 1 | 2 s | README.md's first program
by_hand: ## 1 | 2 s | what 30 lines by hand get wrong, beside retry.h
custom_strategy: ## 3 | 2 s | rules of your own, and a log
alone: ## 1 | 2 s | one operation, whose server is back before its timeout
outage: ## 1 | 2 s | what callers see while a server is down
sleep: ## 3 | 2 s | a device that loses its RAM in each sleep
nodes: ## 3 | 5 s | three nodes, one of which is bad; beside three others
$(RUN): %: $(BUILD)/%
	@$<

demo: $(BUILD)/kv_client ## 1 | 10 s | a client whose servers fail (SERVER=memcached)
	$(need)
	@$(BUILD)/kv_client $(SERVER) $(if $(VERBOSE),verbose)

# Test programs: one for each test_*.c in these folders, and one of two files.
FOLDERS = core gates errmap
FILES = $(wildcard $(FOLDERS:%=tests/%/test_*.c))
vpath test_%.c $(FOLDERS:%=tests/%)
SUPPORT = $(wildcard tests/support/*.h tests/fuzz/*.h)
TESTS = $(sort $(notdir $(FILES:.c=)) test_link)
THREADED = $(filter %threads %processes,$(TESTS)) # share gates by atomics
HOSTED = $(THREADED) test_clock test_errmap_maps test_link # need an operating system
APART = test_link test_masks test_misuse test_run_misuse # compile the implementation in a way of their own
WITHOUT =
HASH = \#
JSMN := $(shell echo '$(HASH)include <jsmn.h>' | $(CC) -E -x c - > /dev/null 2>&1 && echo yes)
# With any SUBJECT, too; a second.
ALWAYS = $(addprefix tests/compile/test_,functions.sh numbers.sh verified.sh)
SCRIPTS = $(addprefix tests/compile/test_,switches.sh cut.sh docs.sh snippets.sh) $(ALWAYS) \
	$(addprefix tests/examples/test_,small.sh errmap_dump.sh demo.sh)
# SUBJECT=aimd: the tests that have it in their names, and those that use retry_aimd* or retry_*_aimd*.
ifneq ($(SUBJECT),)
TESTS := $(basename $(notdir $(filter $(shell grep -l -i -E '(retry|errmap)_([a-z_]*_)?$(SUBJECT)' $(FILES)) \
	$(wildcard tests/*/test_*$(SUBJECT)*.c),$(FILES))))
SCRIPTS := $(ALWAYS) $(foreach script,$(filter-out $(ALWAYS),$(SCRIPTS)),$(if $(findstring \
	$(SUBJECT),$(script)),$(script)))
endif
programs = $(addprefix $(BUILD)/,$(filter $(filter-out $(WITHOUT),$(TESTS)),$(basename $(notdir $(wildcard $(1))))))
UNITS = $(foreach folder,errmap core gates,$(folder): $(call programs,tests/$(folder)/test_*.c)) \
	compile: $(if $(filter test_link,$(filter-out $(WITHOUT),$(TESTS))),$(BUILD)/test_link)
# What `make test` runs, but for what needs errmap.h where there is no jsmn.h.
ALL_RUNS = compile: $(filter tests/compile/%,$(SCRIPTS)) examples: $(filter tests/examples/%,$(SCRIPTS)) $(UNITS)
LEFT_OUT = $(if $(JSMN),,$(filter $(BUILD)/test_errmap% %/test_errmap_dump.sh %/test_demo.sh,$(ALL_RUNS)))
RUNS = $(filter-out $(LEFT_OUT),$(ALL_RUNS))

test: $(BUILD)/settings ## 1 | 45 s | build and run the tests (SUBJECT=aimd: some)
	@sh tests/tools/deps.sh $(PACKAGES_$@) || true
	@$(ALIVE) $(MAKE) --no-print-directory $(PARALLEL) run-tests

run-tests: $(filter $(BUILD)/%,$(RUNS)) $(if $(filter %/test_small.sh,$(RUNS)),$(addprefix $(BUILD)/,$(RUN)))
run-tests: $(if $(filter %/test_errmap_dump.sh,$(RUNS)),$(BUILD)/errmap_dump)
run-tests: $(if $(filter %/test_demo.sh,$(RUNS)),$(BUILD)/kv_client $(BUILD)/retry)
	$(if $(TESTS)$(findstring $(SUBJECT),$(SCRIPTS)),,@echo "no test is about $(SUBJECT)"; exit 1)
	@WITHOUT_JSMN="$(notdir $(LEFT_OUT))" sh tests/tools/run.sh $(RUNS)

redis: ## 3 | 15 s | hiredis; the server freezes and dies
mqtt: ## 3 | 15 s | libmosquitto; the broker freezes and dies
lwip: ## 3 | 15 s | lwIP's raw interface, polled; its peer dies
$(SERVED):
	$(need)
	@$(MAKE) -s $(BUILD)/$@
	@sh tests/examples/$@.sh $(BUILD)/$@

recipes: ## 1 | 2 min | all recipes, servers fail (RECIPES= RENEW=1)
	$(need)
	@$(MAKE) -s $(addprefix $(BUILD)/recipes/,$(RECIPES))
	@for name in $(RECIPES); do \
		printf '\n---- %s\n' $$name && sh tests/examples/recipe_$$name.sh $(BUILD)/recipes/$$name || exit; done
	$(if $(RENEW),@sh tests/verify/recipes.sh --renew)

http: ## 1 | 15 s | libcurl, and curl --retry; nginx fails (ARGS=)
	$(need)
	@$(MAKE) -s $(BUILD)/http_curl
	@$(BUILD)/http_curl $(ARGS) compare $(BUILD)/http

guarded: ## 3 | 2 min | libcurl behind all gates, and without them
	$(need)
	@$(MAKE) -s $(BUILD)/guarded $(BUILD)/slow_server
	@sh tests/examples/guarded.sh $(BUILD)/guarded

async: ## 3 | 10 s | 10,000 operations at once on one libuv thread
	$(need)
	@$(MAKE) -s $(BUILD)/async_uv
	@$(BUILD)/async_uv

frozen: ## 3 | 1 min | 1,000 clients, whose server freezes, in one loop
	$(need)
	@$(MAKE) -s $(BUILD)/frozen
	@$(BUILD)/frozen

storm: $(BUILD)/storm ## 1 | 1 min | what a policy does to a service (ARGS=--help)
	@$(BUILD)/storm --data $(BUILD)/plots $(ARGS)
ifeq ($(findstring --help,$(ARGS)),)
	@sh tests/tools/deps.sh $(PACKAGES_storm) || { echo "no plots: gnuplot is missing"; exit 0; }; \
		gnuplot -e "dir='$(BUILD)/plots'" examples/storm/storm.gnuplot && echo "plots: $(BUILD)/plots/*.svg, *.png"
endif

page: ## 4 | 2 s | write examples/storm/page.html anew
	$(need)
	@sh examples/storm/page.sh examples/storm/page.html
	@echo "examples/storm/page.html: open it in a browser"

together: $(BUILD)/together ## 1 | 1 min | all combinations of gates in 9 faults (ARGS=)
	@$(BUILD)/together $(ARGS)

peers: $(BUILD)/peers ## 1 | 1 min | beside 21 ways that others retry (ARGS=-v)
	@$(BUILD)/peers --data $(BUILD) $(ARGS)
	@! command -v gnuplot > /dev/null || gnuplot -e "dir='$(BUILD)'" examples/storm/peers.gnuplot

# What it prints, and its exit status, kept for two tests, as it takes two minutes of a processor.
$(BUILD)/peers.kept/printed: $(BUILD)/peers
	@mkdir -p $(@D)
	@$< -v --data $(@D) > $@ 2> $@.err; echo $$? > $@.status

metrics: $(BUILD)/metrics ## 3 | 5 s | counts as Prometheus text, read by promtool
	$(need)
	@$(BUILD)/metrics | tee $(BUILD)/metrics.txt
	@promtool check metrics < $(BUILD)/metrics.txt && echo "promtool: no fault"

firmware: ## 3 | 20 s | the same decisions on a Cortex-M3 and here
	$(need)
	@$(ALIVE) $(MAKE) --no-print-directory -C examples/firmware run \
		OUT=$(if $(filter /%,$(BUILD)),,../../)$(BUILD)/firmware

freertos: ## 3 | 5 s | tasks of a stand-in kernel (KERNEL=: a real one)
	$(need)
	@sh tests/examples/freertos.sh $(BUILD)/freertos $(KERNEL)

idf: ## 3 | 5 s | esp-mqtt as a fleet, on stand-ins for ESP-IDF
	$(need)
	@sh tests/examples/idf.sh $(BUILD)/idf

arduino: arduino-zip ## 3 | 15 s | an Arduino library; its sketch in simavr
	$(need)
	@$(ALIVE) sh tests/examples/arduino.sh $(BUILD)/retry-arduino.zip $(BUILD)/arduino

arduino-zip: $(BUILD)/retry-arduino.zip ## 2 |  | write the zip that the Arduino IDE installs
	@echo "$<: in the IDE, Sketch, Include Library, Add .ZIP Library"

$(BUILD)/retry-arduino.zip: retry.h $(shell find examples/arduino -type f) | $(BUILD)
	$(need)
	@rm -rf $@ $(BUILD)/zip && mkdir -p $(BUILD)/zip
	@cp -r examples/arduino $(BUILD)/zip/retry && cp retry.h $(BUILD)/zip/retry/src
	@cd $(BUILD)/zip && zip -q -r ../$(@F) retry

# major.minor.patch, as retry.h has it
VERSION = $(shell awk '/define RETRY_VERSION_[MP]/ { v = v dot $$3; dot = "." } END { print v }' \
	retry.h)

# As cmake --install does it (examples/cmake_fetch).
INSTALLED = $(DESTDIR)$(PREFIX)
install: ## 2 |  | copy the headers to PREFIX (pkg-config, CMake)
	@mkdir -p "$(INSTALLED)" 2> /dev/null && test -w "$(INSTALLED)" || \
		{ echo "cannot write to $(INSTALLED): try make $@ PREFIX=$$HOME/.local" >&2; exit 1; }
	@cd "$(INSTALLED)" && install -d include share/pkgconfig share/cmake/retry share/doc/retry
	@install -m 644 $(HEADERS) "$(INSTALLED)/include"
	@install -m 644 examples/cmake_fetch/retryConfig*.cmake "$(INSTALLED)/share/cmake/retry"
	@umask 022 && sed 's/@PACKAGE_VERSION@/$(VERSION)/' examples/cmake_fetch/retry.pc.in \
		> "$(INSTALLED)/share/pkgconfig/retry.pc"
	@install -m 644 examples/LICENSE "$(INSTALLED)/share/doc/retry/copyright"
	@echo "installed retry $(VERSION) into $(INSTALLED)"

$(BUILD)/retry.1: examples/retry/retry.1 retry.h | $(BUILD)
	@sed 's/@VERSION@/$(VERSION)/' $< > $@

install-retry: $(BUILD)/retry $(BUILD)/retry.1 ## 2 |  | copy the command retry to PREFIX
	@install -D $(BUILD)/retry "$(INSTALLED)/bin/retry"
	@install -D -m 644 $(BUILD)/retry.1 "$(INSTALLED)/share/man/man1/retry.1"
	@install -D -m 644 examples/retry/retry.bash \
		"$(INSTALLED)/share/bash-completion/completions/retry"
	@echo "installed the command retry $(VERSION) into $(INSTALLED)"

uninstall: ## 2 |  | remove what install and install-retry copied to PREFIX
	@cd "$(INSTALLED)" && rm -rf share/cmake/retry share/doc/retry && rm -f $(HEADERS:%=include/%) bin/retry \
		share/pkgconfig/retry.pc share/man/man1/retry.1 share/bash-completion/completions/retry
	@echo "removed retry from $(INSTALLED)"

# Names grow by the prefix, and so may lines.
CUT_PREFIX = $(if $(filter file,$(origin PREFIX)),,$(PREFIX))
cut: | $(BUILD) ## 2 |  | a header of some parts (PARTS= PREFIX= OUT=)
	@awk -v parts="$(PARTS)" -v prefix="$(CUT_PREFIX)" -v out="$(OUT)" -f tests/tools/cut.awk retry.h
	@sed 's/^ColumnLimit: .*/ColumnLimit: 110/' .clang-format > $(BUILD)/cut.format
	@if command -v clang-format > /dev/null; then clang-format -i --style=file:$(BUILD)/cut.format "$(OUT)"; \
		else echo "$(OUT) is as long as its names make it: clang-format is missing"; fi

check: ## 4 | 30 s | the test programs: CC= STD= OPT= DEFINES=
	$(need)
	@$(MAKE) -s $(PARALLEL) $(filter $(BUILD)/%,$(UNITS))
	@sh tests/tools/run.sh $(UNITS)

# Those that draw random numbers.
RANDOM_TESTS = $(filter $(TESTS), \
	$(basename $(notdir $(shell grep -l -E 'check_random|shape_draw|threads_seed' $(FILES)))))
seeds: ## 5 | 15 min | random tests by seeds 1 to SEEDS=200 (SUBJECT=)
	$(need)
	@$(MAKE) -s $(PARALLEL) BUILD=$(BUILD)/seeds DEFINES=-DCHECK_QUICK $(RANDOM_TESTS:%=$(BUILD)/seeds/%)
	@sh tests/tools/run.sh seeds: $(RANDOM_TESTS:%="tests/tools/seeds.sh $(SEEDS) $(BUILD)/seeds/%")

units: ## 4 | 1 min | the headers beside other code, C and C++
	$(need)
	@CXX="$(CXX)" sh tests/tools/run.sh compile: "tests/compile/test_snippets.sh c++" \
		"tests/compile/test_beside_jsmn.sh $(BUILD)/units"

FUZZ_SECONDS = 30
REPLAYS = $(patsubst tests/fuzz/%.c,$(BUILD)/replay_%,$(wildcard tests/fuzz/*.c))
fuzz: ## 4 | 10 min | texts, packets and calls (FUZZ_SECONDS= each)
	$(need)
	@$(MAKE) -s $(REPLAYS)
	@$(ALIVE) sh tests/fuzz/fuzz.sh $(BUILD) $(FUZZ_SECONDS)

test-recipes: ## 4 | 10 min | test the recipes on servers that fail (RECIPES=)
	$(need)
	@$(MAKE) -s $(PARALLEL) $(RECIPES:%=$(BUILD)/recipes/%)
	@$(ALIVE) sh tests/tools/run.sh recipes: \
		$(foreach name,$(RECIPES),"tests/examples/test_recipes.sh $(BUILD) $(name)")

test-examples: ## 4 | 15 min | test the other examples and ways to install
	$(need)
	@$(ALIVE) $(MAKE) --no-print-directory $(PARALLEL) run-examples

BUILT = $(addprefix $(BUILD)/,retry-arduino.zip $(SERVED) http_curl async_uv frozen retry storm together peers \
	page kv_client guarded slow_server metrics lambda)
# One after the other, as some compare how long servers take.
run-examples: $(BUILT) $(BUILD)/peers.kept/printed
	@CORES=1 sh tests/tools/run.sh \
		$(foreach name,$(SERVED),$(name): "tests/examples/test_served.sh $(BUILD)/$(name)") \
		http: "tests/examples/test_http.sh $(BUILD)/http_curl" \
		async: "tests/examples/test_async.sh $(BUILD)/async_uv" \
		frozen: "tests/examples/test_frozen.sh $(BUILD)/frozen" \
		retry: "tests/examples/test_retry.sh $(BUILD)/retry" \
		storm: "tests/examples/test_storm.sh $(BUILD)/storm" \
		together: "tests/examples/test_together.sh $(BUILD)/together" \
		peers: "tests/examples/test_peers.sh $(BUILD)" \
		page: "tests/examples/test_page.sh $(BUILD)/page" \
		demo: tests/examples/test_demo.sh \
		firmware: tests/examples/test_firmware.sh tests/examples/test_freertos.sh \
		idf: tests/examples/test_idf.sh \
		arduino: "tests/examples/test_arduino.sh $(BUILD)/retry-arduino.zip" \
		guarded: "tests/examples/test_guarded.sh $(BUILD)/guarded" \
		metrics: "tests/examples/test_metrics.sh $(BUILD)/metrics" \
		install: "tests/examples/test_lambda.sh $(BUILD)/lambda" tests/install/test_install.sh

size: ## 4 | 10 s | bytes of flash, RAM and stack on small cores
	$(need)
	@$(ALIVE) sh tests/tools/size.sh
	@echo && $(ALIVE) sh tests/tools/size_firmware.sh

PEERS = $(addprefix $(BUILD)/bench_errmap_,errmap jsmn cjson jansson json_c rapidjson)
BENCHES = $(addprefix $(BUILD)/bench_,decision budget find operation scopes from_text) $(PEERS)
bench: ## 4 | 1 min | instructions, beside loops by hand and others
	$(need)
	@$(MAKE) -s $(BENCHES)
	@$(ALIVE) sh tests/bench/bench.sh $(BUILD)
	@$(ALIVE) sh tests/bench/operation.sh $(BUILD)
	@$(ALIVE) sh tests/bench/errmap.sh $(BUILD)

figures: $(BUILD)/by_hand $(BUILD)/storm $(BUILD)/peers.kept/printed $(BUILD)/alone $(BUILD)/outage ## 4 | 2 min | measure the figures in the texts (RENEW=1)
	$(need)
	@$(MAKE) -s $(BUILD)/http_curl $(BENCHES)
	@$(if $(RENEW),RENEW=1) $(ALIVE) sh tests/compile/test_figures.sh $(BUILD)

packages: ## 5 |  | install what all of this needs
	$(need)

verify: ## 5 | hours | all that is below; and fuzz, lint, coverage
	@for target in $(VERIFY); do $(MAKE) --no-print-directory $$target || exit; done

matrix: ## 5 | 20 min | every compiler, standard and option
	$(need)
	@$(ALIVE) sh tests/verify/matrix.sh

symbols: ## 5 | 2 min | symbols that the headers define and call
	$(need)
	@$(ALIVE) sh tests/verify/symbols.sh

bare: ## 5 | 5 min | a new Debian with gcc and make: make test
	$(need)
	@$(ALIVE) sh tests/verify/bare.sh

# TARGETS="avr s390x" chooses.
TARGETS = cortex-m0 cortex-m3 avr rv32 s390x powerpc windows-32 windows-64 tcc
cross: ## 5 | 20 min | the test programs on other machines (TARGETS=)
	$(need)
	@HOSTED="$(HOSTED)" THREADED="$(THREADED)" \
		SHARING="$(filter-out $(THREADED) test_lost_swaps,$(notdir $(SHARING)))" \
		$(ALIVE) sh tests/verify/cross.sh $(BUILD) "$(TARGETS)" $(TESTS)

# What threads meet by luck counts for nothing: test_lost_swaps brings it about.
coverage: ## 4 | 2 min | what no test reaches
	$(need)
	@$(ALIVE) sh tests/verify/coverage.sh $(BUILD) test_run_misuse \
		$(filter-out $(APART) $(THREADED),$(TESTS))

stress: ## 5 | 20 min | threads at once, and models of what they share
	$(need)
	@$(ALIVE) sh tests/verify/stress.sh $(BUILD) $(THREADED) test_lost_swaps

prove: ## 5 | 1 h | the arithmetic, by Frama-C (MACHDEPS=x86_64)
	$(need)
	@$(ALIVE) sh tests/verify/prove.sh $(BUILD)

mutants: ## 4 | 1 min | changes no test notices (FUNCTION= SECTION=)
	$(need)
	@FUNCTION="$(FUNCTION)" SECTION="$(SECTION)" $(ALIVE) python3 tests/verify/mutants.py $(BUILD)/mutants \
		$(filter-out $(APART) test_clock,$(TESTS))

lint: ## 4 | 5 min | clang-tidy, scan-build, cppcheck (MISRA), gcc
	$(need)
	@$(ALIVE) sh tests/verify/lint.sh

clean: ## 4 |  | remove what was built
	rm -rf $(BUILD)

$(BUILD):
	@mkdir -p $@

# Asked for only by what compiles errmap.h.
jsmn: $(BUILD)/settings
	$(need)
$(addprefix $(BUILD)/,$(filter test_errmap%,$(TESTS)) errmap_dump kv_client bench_errmap): | jsmn
$(addprefix $(BUILD)/replay_errmap_,map packets answers): | jsmn

COMPILE = @$(CC) $(WARNINGS)

# Changes when what is built would be built in another way, so that nothing stale passes a test.
SETTINGS = $(CC) $(CXX) $(STD) $(OPT) $(DEFINES) $(WARNINGS)
$(BUILD)/settings: FORCE | $(BUILD)
	@echo '$(HASH)include <stdio.h>' | $(CC) -E -x c - > /dev/null || { echo "There is no C compiler ($(CC))." \
		"Install one (Debian: apt install gcc libc6-dev), or name yours by CC=." >&2; exit 1; }
	@echo '$(SETTINGS)' | cmp -s - $@ || echo '$(SETTINGS)' > $@
FORCE:

$(BUILD)/test_link: tests/compile/link_a.c tests/compile/link_b.c $(HEADERS) $(SUPPORT) \
		$(BUILD)/settings
	$(COMPILE) $(LANGUAGE) $(OPT) $(DEFINES) -o $@ tests/compile/link_a.c tests/compile/link_b.c

$(BUILD)/test_%: test_%.c $(HEADERS) $(SUPPORT) $(BUILD)/settings
	$(COMPILE) $(LANGUAGE) $(OPT) $(DEFINES) -o $@ $< -lm -lpthread

# The tests of retry.h share one object of it, unless it is to be static; test_clock has a clock of its own.
ifeq ($(findstring RETRY_STATIC,$(DEFINES)),)
SHARING = $(addprefix $(BUILD)/,$(filter-out $(APART) test_clock test_errmap%,$(TESTS)))
$(SHARING): $(BUILD)/test_%: test_%.c $(BUILD)/tested.o
	$(COMPILE) $(LANGUAGE) $(OPT) $(DEFINES) -DRETRY_IMPLEMENTED -o $@ $< -x none $(BUILD)/tested.o -lm -lpthread
endif
$(BUILD)/tested.o: retry.h $(SUPPORT) $(BUILD)/settings
	$(COMPILE) -x c $(LANGUAGE) $(OPT) $(DEFINES) -DRETRY_IMPLEMENTATION -include tests/support/contend.h -c -o $@ $<

$(BUILD)/bench_%: tests/bench/%.c $(HEADERS) $(SUPPORT) $(wildcard tests/bench/*.h) $(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -I. -o $@ $< -lm -lpthread

$(BUILD)/bench_decision $(BUILD)/bench_operation: $(BUILD)/bench_%: tests/bench/%.c \
		tests/bench/retry.c $(HEADERS) $(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -o $@ $< tests/bench/retry.c -lm

# Each parser in a file of its own, all of them compiled alike.
$(BUILD)/bench_errmap_cjson: LIBRARIES = -lcjson
$(BUILD)/bench_errmap_jansson: LIBRARIES = -ljansson
$(BUILD)/bench_errmap_json_c: LIBRARIES = -ljson-c
$(BUILD)/bench_errmap_rapidjson: LIBRARIES = -lstdc++
$(PEERS): $(BUILD)/bench_errmap_%: $(BUILD)/bench_errmap.o $(BUILD)/bench_errmap_%.o
	$(COMPILE) -o $@ $^ $(LIBRARIES) -lpthread
$(BUILD)/bench_errmap_rapidjson.o: tests/bench/errmap_rapidjson.cpp tests/bench/errmap_peer.h \
		$(HEADERS) $(BUILD)/settings
	@$(CXX) -std=c++11 -O2 -c -o $@ $<
$(BUILD)/bench_%.o: tests/bench/%.c $(HEADERS) $(SUPPORT) $(wildcard tests/bench/*.h) \
		$(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -c -o $@ $<

$(BUILD)/replay_%: tests/fuzz/%.c $(HEADERS) $(SUPPORT) $(wildcard tests/fuzz/*.h) $(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -DFUZZ_REPLAY -I. -o $@ $< -lm

# An example of one file, or one in a folder of its own.
$(BUILD)/mqtt: LIBRARIES = -lmosquitto
$(BUILD)/lwip: LIBRARIES = -isystem /usr/include/lwip -llwip
$(BUILD)/redis: LIBRARIES = -lhiredis
$(BUILD)/http_curl: LIBRARIES = -lcurl
$(BUILD)/guarded: LIBRARIES = -lcurl
$(BUILD)/async_uv $(BUILD)/frozen: LIBRARIES = -luv
$(BUILD)/retry: LIBRARIES = -I$(BUILD)
$(BUILD)/retry: $(BUILD)/retry_options.h
$(BUILD)/retry_options.h: examples/retry/retry.1 examples/retry/options.awk | $(BUILD)
	@awk -f examples/retry/options.awk $< > $@
$(BUILD)/recipes/%: LIBRARIES = $(LIBRARIES_$*)
LIBRARIES_http = -lcurl
LIBRARIES_nodes = -lcurl
LIBRARIES_hedge = -lcurl
LIBRARIES_rate = -lcurl
LIBRARIES_shared = -lcurl
LIBRARIES_fleet = -lm
LIBRARIES_delay = -lcurl
LIBRARIES_locked = -I/usr/include/mariadb -lmariadb
LIBRARIES_transaction = -I/usr/include/postgresql -lpq
$(BUILD)/recipes/fleet: $(wildcard examples/storm/*.h)
$(BUILD)/recipes/%: examples/recipes/%.c $(HEADERS) $(wildcard examples/recipes/*.h) $(BUILD)/settings
	@mkdir -p $(@D)
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)
$(BUILD)/%: examples/%.c $(HEADERS) $(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)
$(BUILD)/%: examples/%.cpp $(HEADERS) $(BUILD)/settings
	@$(CXX) $(WARNINGS) -std=c++11 $(OPT) -o $@ $<
.SECONDEXPANSION:
$(BUILD)/%: examples/$$*/$$*.c $(HEADERS) $$(wildcard examples/*.h examples/$$*/*.h) \
		$(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)

$(BUILD)/together $(BUILD)/peers $(BUILD)/alone $(BUILD)/outage $(BUILD)/nodes $(BUILD)/page: $(BUILD)/%: examples/storm/%.c $(HEADERS) \
		$(wildcard examples/storm/*.h) $(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -o $@ $< -lm
$(BUILD)/slow_server: tests/examples/slow_server.c examples/plumbing.h $(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< -lpthread

$(BUILD)/storm: examples/storm/storm.c $(HEADERS) $(wildcard examples/storm/*.h) \
		$(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -o $@ $< -lm
