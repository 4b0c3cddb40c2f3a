# retry.h and errmap.h: `make help` lists the targets.

CC = cc
STD = c99
OPT = -O1
DEFINES =
BUILD = build
SERVER = scripted
VERBOSE =
ARGS =
FUNCTION =
RENEW =
SAMPLE =
ONLY =
PREFIX = /usr/local
PARTS =
KERNEL =
OUT =
DESTDIR =

export WERROR = -Werror
WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef \
	$(WERROR)
LANGUAGE = $(if $(findstring ++,$(STD)),-x c++) -std=$(STD)
HEADERS = retry.h errmap.h
TEXTS = README.md tests/README.md $(HEADERS)

# Test programs: one for each test_*.c in these rooms, and one of two files.
ROOMS = tests/core tests/gates tests/errmap
vpath test_%.c $(ROOMS)
SUPPORT = $(wildcard tests/support/*.h)
TESTS = $(sort $(basename $(notdir $(wildcard $(ROOMS:=/test_*.c)))) test_link)
THREADED = $(filter %threads %processes,$(TESTS)) # share gates by atomics
HOSTED = $(THREADED) test_clock test_errmap_maps test_link # need an operating system
APART = test_link test_masks # compile the implementation in a way of their own
JSMN_TESTS = $(filter test_errmap%,$(TESTS))
WITHOUT =
PROGRAMS = $(addprefix $(BUILD)/,$(filter-out \
	$(WITHOUT) $(call lacking,libjsmn-dev,$(JSMN_TESTS)),$(TESTS)))

# Debian packages: $(call need,PACKAGES) installs with apt those that are missing, and says so.
need = @CC="$(CC)" sh tests/tools/deps.sh $(1)
# $(call try,PACKAGES,TARGET) goes on with the target even without them; LACKS says what is missing.
try = +@$(MAKE) --no-print-directory $(PARALLEL) $(2) \
	LACKS="$$(CC="$(CC)" sh tests/tools/deps.sh --lacks $(1))"
LACKS =
# All cores build, unless -j says how many; what two compilers say does not mingle.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(CORES)) $(if $(filter output-sync,$(.FEATURES)),-Otarget)
CORES ?= $(shell getconf _NPROCESSORS_ONLN)
# "+" shows at once what tests say, in spite of -O; make -n runs none.
AT_ONCE = $(if $(findstring n,$(firstword -$(filter-out --%,$(MAKEFLAGS)))),,+)@
ALIVE = sh tests/tools/alive.sh
lacking = $(if $(filter $(1),$(LACKS)),$(2))
unless = $(if $(filter $(1),$(LACKS)),,$(2))
KV = libjsmn-dev memcached procps
HTTP = libcurl4-openssl-dev nginx-light curl procps
ASYNC = libuv1-dev
# Examples on a real server that is broken under them, by tests/examples/NAME.sh.
SERVED = redis mqtt lwip
PACKAGES_redis = libhiredis-dev redis-server procps
PACKAGES_mqtt = libmosquitto-dev mosquitto procps
PACKAGES_lwip = liblwip-dev procps
# README.md's recipes, by tests/examples/recipe_NAME.sh.
RECIPES = http transaction reconnect nodes hedge rate fleet shared \
	loop delay
RECIPE = libcurl4-openssl-dev libpq-dev memcached nginx-light openssl postgresql procps
GUARDED = libcurl4-openssl-dev nginx-light procps
# Examples of one file that run by themselves.
RUN = quickstart custom_strategy outage
STORM = gnuplot-nox
METRICS = prometheus
PAGE = clang-14 lld-14
BROWSER = $(PAGE) chromium python3
INSTALL = libjsmn-dev g++ cmake meson ninja-build pkg-config git sdcc
BENCH = libjsmn-dev g++ valgrind libcjson-dev libjansson-dev libjson-c-dev rapidjson-dev
ARDUINO = arduino-core-avr arduino-builder libsimavr-dev zip unzip
IDF = gcc-xtensa-lx106 picolibc-xtensa-lx106-elf cmake python3-minimal
ARM = libjsmn-dev gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm
MATRIX = libjsmn-dev gcc-12-multilib g++-12-multilib gcc-11 g++-11 clang-13 clang-14 clang-19 tcc
# What `make cross` needs for each of its targets.
PACKAGES_cortex-m0 = $(filter-out libjsmn-dev,$(ARM))
PACKAGES_cortex-m3 = $(PACKAGES_cortex-m0)
PACKAGES_avr = gcc-avr avr-libc libsimavr-dev
PACKAGES_rv32 = gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc
PACKAGES_s390x = gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user
PACKAGES_powerpc = gcc-powerpc-linux-gnu libc6-dev-powerpc-cross qemu-user
PACKAGES_windows-64 = gcc-mingw-w64-x86-64 wine wine64
PACKAGES_windows-32 = gcc-mingw-w64-i686 wine wine64
PACKAGES_tcc = tcc
WINDOWS = libjsmn-dev $(PACKAGES_windows-64) clang-19
FUZZ = libjsmn-dev clang libclang-rt-14-dev afl++
LINT = libjsmn-dev clang clang-format clang-tidy clang-tools cppcheck
STRESS = clang libclang-rt-14-dev spin
MUTANTS = libjsmn-dev python3 clang-19 libclang-rt-19-dev
COVERAGE = libjsmn-dev clang-19 llvm-19 libclang-rt-19-dev
PROVE = libjsmn-dev frama-c-base why3 z3 cvc4
SYMBOLS = libjsmn-dev g++ clang-14 clang-19 gcc-arm-none-eabi picolibc-arm-none-eabi

.PHONY: FORCE renew help $(RUN) recipes deps demo test run-tests $(SERVED) http async frozen storm page together peers metrics guarded firmware \
	freertos idf arduino arduino-zip \
	install install-retry cut check run-check units fuzz test-examples run-examples qemu size figures bench verify matrix \
	symbols windows cross coverage prove mutants stress lint packages clean jsmn
.DEFAULT_GOAL := help

# "## GROUP | TIME | TEXT" behind a target is what help shows.
help:
	@awk -F ':.*## | [|] ' ' \
		/^[a-z_-]+:.*## [1-4] [|]/ { \
			line[$$2] = line[$$2] sprintf("  make %-15s %6s  %s\n", $$1, $$3, $$4) } \
		END { printf "To begin with\n%s", line[1]; \
			printf "\nExamples (make build/NAME builds examples/NAME.c alone)\n%s", line[2]; \
			printf "\nWhen you change something\n%s", line[3]; \
			printf "\nEverything else that is checked\n%s", line[4]; \
			printf "\nMissing Debian packages are installed by apt, as root or by sudo. On a\n" \
				"terminal examples ask first (YES=1: they do not).\n" }' Makefile

quickstart: ## 1 | 2 s | README.md's first program
custom_strategy: ## 2 | 2 s | rules of your own, and a log
outage: ## 2 | 2 s | what callers see while a server is down
$(RUN): %: $(BUILD)/%
	@$<

deps: ## 1 |  | install what demo and test need
	$(call need,libjsmn-dev procps)

demo: $(BUILD)/kv_client ## 1 | 10 s | a client whose servers fail (SERVER=memcached)
	$(call need,$(filter memcached,$(SERVER)))
	@$(BUILD)/kv_client $(SERVER) $(if $(VERBOSE),verbose)

test: ## 1 | 1 min | build and run the tests
	$(call try,libjsmn-dev procps,run-tests)

DUMP_TEST = $(call unless,libjsmn-dev,"tests/examples/test_errmap_dump.sh $(BUILD)/errmap_dump")
DEMO_TEST = $(call unless,libjsmn-dev procps,"tests/examples/test_demo.sh $(BUILD)/kv_client")
SMALL = $(addprefix $(BUILD)/,$(RUN))
# The longest first, so that none goes on alone.
run-tests: $(PROGRAMS) $(SMALL) $(BUILD)/retry
run-tests: $(call unless,libjsmn-dev,$(BUILD)/errmap_dump $(BUILD)/kv_client)
	$(AT_ONCE)CC="$(CC)" RETRY=$(BUILD)/retry LACKS="$(LACKS)" LEFT_OUT="$(call \
		lacking,libjsmn-dev,errmap.h )$(call lacking,libjsmn-dev procps,demo)" \
		sh tests/tools/run.sh tests/compile/test_switches.sh tests/compile/test_cut.sh \
		tests/tools/test_tools.sh $(DEMO_TEST) tests/tools/test_changed.sh \
		tests/tools/test_fresh.sh tests/compile/test_docs.sh \
		"tests/compile/test_snippets.sh c" tests/compile/test_numbers.sh \
		"tests/compile/test_words.sh $(TEXTS)" "tests/examples/test_small.sh $(BUILD)" $(DUMP_TEST) $(PROGRAMS)

redis: ## 2 | 15 s | hiredis; the server freezes and dies
mqtt: ## 2 | 15 s | libmosquitto; the broker freezes and dies
lwip: ## 2 | 15 s | lwIP's raw interface, polled; its peer dies
$(SERVED):
	$(call need,$(PACKAGES_$@))
	@$(MAKE) -s $(BUILD)/$@
	@sh tests/examples/$@.sh $(BUILD)/$@

recipes: ## 1 | 2 min | README.md's recipes; servers fail (RECIPES=)
	$(call need,$(RECIPE))
	@$(MAKE) -s $(addprefix $(BUILD)/recipes/,$(RECIPES))
	@for name in $(RECIPES); do \
		printf '\n---- %s\n' $$name && sh tests/examples/recipe_$$name.sh $(BUILD)/recipes/$$name || exit; done

http: ## 2 | 15 s | libcurl, and curl --retry; nginx fails (ARGS=)
	$(call need,$(HTTP))
	@$(MAKE) -s $(BUILD)/http_curl
	@$(BUILD)/http_curl $(ARGS) compare $(BUILD)/http

guarded: ## 2 | 2 min | libcurl behind all gates, and without them
	$(call need,$(GUARDED))
	@$(MAKE) -s $(BUILD)/guarded $(BUILD)/slow_server
	@sh tests/examples/guarded.sh $(BUILD)/guarded

async: ## 2 | 10 s | 10,000 operations at once on one libuv thread
	$(call need,$(ASYNC))
	@$(MAKE) -s $(BUILD)/async_uv
	@$(BUILD)/async_uv

frozen: ## 2 | 1 min | 1,000 clients, whose server freezes, in one loop
	$(call need,$(ASYNC))
	@$(MAKE) -s $(BUILD)/frozen
	@$(BUILD)/frozen

storm: $(BUILD)/storm ## 1 | 1 min | what a policy does to a service (ARGS=--help)
	@$(BUILD)/storm --data $(BUILD)/plots $(ARGS)
ifeq ($(findstring --help,$(ARGS)),)
	@CC="$(CC)" sh tests/tools/deps.sh $(STORM) || command -v gnuplot > /dev/null || { echo "no plots: gnuplot is missing"; exit 0; }; \
		gnuplot -e "dir='$(BUILD)/plots'" examples/storm/storm.gnuplot && echo "plots: $(BUILD)/plots/*.svg, *.png"
endif

page: ## 3 | 2 s | write examples/storm/page.html anew
	$(call need,$(PAGE))
	@sh examples/storm/page.sh examples/storm/page.html
	@echo "examples/storm/page.html: open it in a browser"

together: $(BUILD)/together ## 2 | 1 min | all combinations of gates in 9 faults (ARGS=)
	@$(BUILD)/together $(ARGS)

peers: $(BUILD)/peers ## 2 | 30 s | beside 21 ways that others retry (ARGS=-v)
	@$(BUILD)/peers --data $(BUILD) $(ARGS)
	@! command -v gnuplot > /dev/null || gnuplot -e "dir='$(BUILD)'" examples/storm/peers.gnuplot

metrics: $(BUILD)/metrics ## 2 | 5 s | counts as Prometheus text, read by promtool
	$(call need,$(METRICS))
	@$(BUILD)/metrics | tee $(BUILD)/metrics.txt
	@promtool check metrics < $(BUILD)/metrics.txt && echo "promtool: no fault"

firmware: ## 2 | 20 s | the same decisions on a Cortex-M3 and here
	$(call need,$(ARM))
	@$(ALIVE) $(MAKE) --no-print-directory -C examples/firmware run \
		OUT=$(if $(filter /%,$(BUILD)),,../../)$(BUILD)/firmware

freertos: ## 2 | 5 s | tasks of a stand-in kernel (KERNEL=: a real one)
	$(if $(KERNEL),$(call need,$(ARM)))
	@sh tests/examples/freertos.sh $(BUILD)/freertos $(KERNEL)

idf: ## 2 | 5 s | esp-mqtt as a fleet, on stand-ins for ESP-IDF
	$(call need,$(IDF))
	@sh tests/examples/idf.sh $(BUILD)/idf

arduino: arduino-zip ## 2 | 15 s | an Arduino library; its sketch in simavr
	$(call need,$(ARDUINO))
	@$(ALIVE) sh tests/examples/arduino.sh $(BUILD)/retry-arduino.zip $(BUILD)/arduino

arduino-zip: $(BUILD)/retry-arduino.zip ## 1 |  | write the zip that the Arduino IDE installs
	@echo "$<: in the IDE, Sketch, Include Library, Add .ZIP Library"

$(BUILD)/retry-arduino.zip: retry.h $(shell find examples/arduino -type f) | $(BUILD)
	$(call need,zip)
	@rm -rf $@ $(BUILD)/zip && mkdir -p $(BUILD)/zip
	@cp -r examples/arduino $(BUILD)/zip/retry && cp retry.h $(BUILD)/zip/retry/src
	@cd $(BUILD)/zip && zip -q -r ../$(@F) retry

# major.minor.patch, as retry.h has it
VERSION = $(shell awk '/define RETRY_VERSION_[MP]/ { v = v dot $$3; dot = "." } END { print v }' \
	retry.h)

define PKGCONFIG_FILE
prefix=$${pcfiledir}/../..
includedir=$${prefix}/include

Name: retry
Description: Decides whether and when to try again: retry.h and errmap.h (which needs jsmn.h)
Version: $(VERSION)
Cflags: -I$${includedir}
endef

define CMAKE_FILE
if(NOT TARGET retry::retry)
  add_library(retry::retry INTERFACE IMPORTED)
  get_filename_component(retry_INCLUDE_DIRS "$${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
  if(NOT CMAKE_CROSSCOMPILING)
    find_path(retry_JSMN_INCLUDE_DIR jsmn.h)
  endif()
  if(retry_JSMN_INCLUDE_DIR)
    list(APPEND retry_INCLUDE_DIRS "$${retry_JSMN_INCLUDE_DIR}")
  endif()
  set_property(TARGET retry::retry PROPERTY
    INTERFACE_INCLUDE_DIRECTORIES "$${retry_INCLUDE_DIRS}")
endif()
endef

define CMAKE_VERSION_FILE
set(PACKAGE_VERSION $(VERSION))
string(REGEX MATCH "^[0-9]+" retry_MAJOR "$${PACKAGE_VERSION}")
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION
    AND PACKAGE_FIND_VERSION_MAJOR STREQUAL retry_MAJOR)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
endef

INSTALLED = $(DESTDIR)$(PREFIX)
install: export PKGCONFIG = $(PKGCONFIG_FILE)
install: export CONFIG = $(CMAKE_FILE)
install: export CONFIG_VERSION = $(CMAKE_VERSION_FILE)
install: ## 1 |  | copy the headers to PREFIX (pkg-config, CMake)
	@mkdir -p "$(INSTALLED)" 2> /dev/null && test -w "$(INSTALLED)" || \
		{ echo "cannot write to $(INSTALLED): try make $@ PREFIX=$$HOME/.local" >&2; exit 1; }
	@install -d "$(INSTALLED)/include" "$(INSTALLED)/share/pkgconfig" \
		"$(INSTALLED)/share/cmake/retry"
	@install -m 644 $(HEADERS) "$(INSTALLED)/include"
	@umask 022 && printf '%s\n' "$$PKGCONFIG" > "$(INSTALLED)/share/pkgconfig/retry.pc"
	@umask 022 && cd "$(INSTALLED)/share/cmake/retry" && \
		printf '%s\n' "$$CONFIG" > retryConfig.cmake && \
		printf '%s\n' "$$CONFIG_VERSION" > retryConfigVersion.cmake
	@echo "installed retry $(VERSION) into $(INSTALLED)"

$(BUILD)/retry.1: examples/retry/retry.1 retry.h | $(BUILD)
	@sed 's/@VERSION@/$(VERSION)/' $< > $@

install-retry: $(BUILD)/retry $(BUILD)/retry.1 ## 1 |  | copy the command retry to PREFIX
	@install -D $(BUILD)/retry "$(INSTALLED)/bin/retry"
	@install -D -m 644 $(BUILD)/retry.1 "$(INSTALLED)/share/man/man1/retry.1"
	@install -D -m 644 examples/retry/retry.bash \
		"$(INSTALLED)/share/bash-completion/completions/retry"
	@echo "installed the command retry $(VERSION) into $(INSTALLED)"

# Names grow by the prefix, and so may lines.
CUT_PREFIX = $(if $(filter file,$(origin PREFIX)),,$(PREFIX))
cut: | $(BUILD) ## 1 |  | a header of some parts (PARTS= PREFIX= OUT=)
	@awk -v parts="$(PARTS)" -v prefix="$(CUT_PREFIX)" -v out="$(OUT)" -f tests/tools/cut.awk retry.h
ifneq ($(PREFIX),retry_)
	$(call need,clang-format)
	@sed 's/^ColumnLimit: .*/ColumnLimit: 110/' .clang-format > $(BUILD)/cut.format
	@clang-format -i --style=file:$(BUILD)/cut.format "$(OUT)"
endif

check: ## 3 | 1 min | the tests, built as CC= STD= OPT= DEFINES= say
	$(call try,$(if $(JSMN_TESTS),libjsmn-dev),run-check)

run-check: $(PROGRAMS)
	$(AT_ONCE)LACKS="$(LACKS)" LEFT_OUT="$(call lacking,libjsmn-dev,errmap.h)" \
		sh tests/tools/run.sh $(PROGRAMS)

units: | jsmn ## 3 | 1 min | the headers beside other code, C and C++
	$(call need,g++)
	@CC="$(CC)" CXX="$(CXX)" sh tests/tools/run.sh "tests/compile/test_snippets.sh c++" \
		"tests/compile/test_beside_jsmn.sh $(BUILD)/units"

FUZZ_SECONDS = 30
REPLAYS = $(patsubst tests/fuzz/%.c,$(BUILD)/replay_%,$(wildcard tests/fuzz/*.c))
fuzz: ## 3 | 10 min | texts, packets and calls (FUZZ_SECONDS= each)
	$(call need,$(FUZZ))
	@$(MAKE) -s $(REPLAYS)
	@$(ALIVE) sh tests/fuzz/fuzz.sh $(BUILD) $(FUZZ_SECONDS)

EXAMPLES = $(sort $(RECIPE) $(KV) $(HTTP) $(ASYNC) $(ARM) $(ARDUINO) $(IDF) $(METRICS) $(GUARDED) $(INSTALL) $(BROWSER) \
	$(foreach name,$(SERVED),$(PACKAGES_$(name))))
test-examples: ## 3 | 10 min | test every example and way to install
	$(call try,$(EXAMPLES),run-examples)

run-examples: $(call unless,$(HTTP),$(BUILD)/http_curl)
run-examples: $(call unless,$(ASYNC),$(BUILD)/async_uv $(BUILD)/frozen)
run-examples: $(call unless,$(KV),$(BUILD)/kv_client) $(BUILD)/storm $(BUILD)/together $(BUILD)/peers
run-examples: $(call unless,$(BROWSER),$(BUILD)/page)
run-examples: $(foreach name,$(SERVED),$(call unless,$(PACKAGES_$(name)),$(BUILD)/$(name)))
run-examples: $(call unless,$(RECIPE) g++,$(addprefix $(BUILD)/recipes/,$(RECIPES)))
run-examples: $(call unless,$(GUARDED),$(BUILD)/guarded $(BUILD)/slow_server)
run-examples: $(call unless,$(ARDUINO),$(BUILD)/retry-arduino.zip)
# One after the other, as some compare how long servers take.
run-examples: $(BUILD)/retry $(BUILD)/metrics $(call unless,$(INSTALL),$(BUILD)/lambda)
	$(AT_ONCE)CORES=1 CC="$(CC)" RETRY=$(BUILD)/retry LACKS="$(LACKS)" LEFT_OUT="$(foreach name,$(SERVED),$(call \
		lacking,$(PACKAGES_$(name)),$(name) ))$(call lacking,$(KV),demo )$(call \
		lacking,$(RECIPE) g++,recipes )$(call \
		lacking,$(HTTP),http )$(call lacking,$(ASYNC),async frozen )$(call \
		lacking,$(ARM),firmware freertos )$(call lacking,$(ARDUINO),arduino )$(call \
		lacking,$(IDF),idf )$(call \
		lacking,$(GUARDED),guarded )$(call lacking,$(BROWSER),page )$(call lacking,$(METRICS),metrics )$(call lacking,$(INSTALL),lambda install)" sh tests/tools/run.sh \
		$(foreach name,$(SERVED),$(call unless,$(PACKAGES_$(name)), \
			"tests/examples/test_served.sh $(BUILD)/$(name)")) \
		$(call unless,$(RECIPE) g++,"tests/examples/test_recipes.sh $(BUILD) $(RECIPES)") \
		$(call unless,$(HTTP),"tests/examples/test_http.sh $(BUILD)/http_curl") \
		$(call unless,$(ASYNC),"tests/examples/test_async.sh $(BUILD)/async_uv" \
			"tests/examples/test_frozen.sh $(BUILD)/frozen") \
		"tests/examples/test_retry.sh $(BUILD)/retry" \
		"tests/examples/test_storm.sh $(BUILD)/storm" \
		"tests/examples/test_together.sh $(BUILD)/together" \
		"tests/examples/test_peers.sh $(BUILD)/peers" \
		$(call unless,$(BROWSER),"tests/examples/test_page.sh $(BUILD)/page") \
		$(call unless,$(KV),"tests/examples/test_demo.sh $(BUILD)/kv_client") \
		$(call unless,$(ARM),tests/examples/test_firmware.sh tests/examples/test_freertos.sh) \
		$(call unless,$(IDF),tests/examples/test_idf.sh) \
		$(call unless,$(ARDUINO),"tests/examples/test_arduino.sh $(BUILD)/retry-arduino.zip") \
		$(call unless,$(GUARDED),"tests/examples/test_guarded.sh $(BUILD)/guarded") \
		$(call unless,$(METRICS),"tests/examples/test_metrics.sh $(BUILD)/metrics") \
		$(call unless,$(INSTALL),"tests/examples/test_lambda.sh $(BUILD)/lambda" \
			tests/install/test_install.sh)

qemu: TARGETS = cortex-m3
qemu: cross ## 4 | 2 min | the test programs on an emulated Cortex-M3

size: ## 3 | 10 s | bytes of flash, RAM and stack on small cores
	$(call need,$(filter-out qemu%,$(ARM)))
	@$(ALIVE) sh tests/tools/size.sh
	@echo && $(ALIVE) sh tests/tools/size_firmware.sh

PEERS = $(addprefix $(BUILD)/bench_errmap_,errmap jsmn cjson jansson json_c rapidjson)
BENCHES = $(addprefix $(BUILD)/bench_,decision budget find operation scopes from_text) $(PEERS)
bench: ## 3 | 1 min | instructions, beside loops by hand and others
	$(call need,$(BENCH) $(ARM))
	@$(MAKE) -s $(BENCHES)
	@$(ALIVE) sh tests/bench/bench.sh $(BUILD)
	@$(ALIVE) sh tests/bench/operation.sh $(BUILD)
	@$(ALIVE) sh tests/bench/errmap.sh $(BUILD)

figures: $(BUILD)/storm $(BUILD)/peers ## 3 | 2 min | measure the figures in the texts (RENEW=1)
	$(call need,$(BENCH) $(ARM) $(HTTP) $(STORM))
	@$(MAKE) -s $(BUILD)/http_curl $(BENCHES)
ifeq ($(RENEW),)
	@sh tests/tools/run.sh "tests/compile/test_figures.sh $(BUILD)"
else
	@RENEW=1 $(ALIVE) sh tests/compile/test_figures.sh $(BUILD)
endif

VERIFY = matrix symbols windows cross coverage prove mutants stress lint fuzz
packages: ## 4 |  | install what all of this needs
	$(call need,$(sort $(EXAMPLES) $(STORM) $(BENCH) $(MATRIX) $(SYMBOLS) $(WINDOWS) $(COVERAGE) $(PROVE) $(MUTANTS) $(STRESS) $(LINT) \
		$(FUZZ) $(foreach target,$(TARGETS),$(PACKAGES_$(target)))))

verify: ## 4 | hours | all that is below; and fuzz, lint, coverage
	@for target in $(VERIFY); do $(MAKE) --no-print-directory $$target || exit; done

matrix: ## 4 | 20 min | every compiler, standard and option
	$(call need,$(MATRIX))
	@$(ALIVE) sh tests/verify/matrix.sh

symbols: ## 4 | 2 min | symbols that the headers define and call
	$(call need,$(SYMBOLS))
	@$(ALIVE) sh tests/verify/symbols.sh

windows: ## 4 | 10 min | the test programs on Windows, by wine
	$(call need,$(WINDOWS))
	@$(ON_TARGETS) sh tests/verify/windows.sh $(BUILD) $(TESTS)

# TARGETS="avr s390x" chooses.
TARGETS = cortex-m0 cortex-m3 avr rv32 s390x powerpc windows-32 windows-64 tcc
ON_TARGETS = $(ALIVE) env HOSTED="$(HOSTED)" THREADED="$(THREADED)"
cross: ## 4 | 20 min | the test programs on other machines (TARGETS=)
	$(call need,libjsmn-dev $(foreach target,$(TARGETS),$(PACKAGES_$(target))))
	@$(ON_TARGETS) sh tests/verify/cross.sh $(BUILD) "$(TARGETS)" $(TESTS)

# What threads meet by luck counts for nothing: test_lost_swaps brings it about.
coverage: ## 3 | 2 min | what no test reaches
	$(call need,$(COVERAGE))
	@$(ALIVE) sh tests/verify/coverage.sh $(BUILD) $(filter-out $(APART) $(THREADED),$(TESTS))

stress: ## 4 | 20 min | threads at once, and models of what they share
	$(call need,$(STRESS))
	@$(ALIVE) sh tests/verify/stress.sh $(BUILD) $(THREADED) test_lost_swaps

prove: ## 4 | 1 h | the arithmetic, by Frama-C (MACHDEPS=x86_64)
	$(call need,$(PROVE))
	@$(ALIVE) sh tests/verify/prove.sh $(BUILD)

mutants: ## 4 | hours | changes that no test notices (FUNCTION=)
	$(call need,$(MUTANTS))
	@FUNCTION="$(FUNCTION)" SAMPLE="$(SAMPLE)" ONLY="$(ONLY)" $(ALIVE) sh tests/verify/mutants.sh $(BUILD) \
		$(filter-out $(APART),$(TESTS))

lint: ## 3 | 5 min | clang-tidy, scan-build, cppcheck (MISRA), gcc
	$(call need,$(LINT))
	@$(ALIVE) sh tests/verify/lint.sh

LISTS = names models prove tables recipes
# Each list says what holds; whoever writes it anew has looked at what changed.
WHAT =
renew: ## 3 |  | rewrite the lists that checks compare (WHAT=)
	@[ -n "$(WHAT)" ] && [ -z "$(filter-out $(LISTS),$(WHAT))" ] || \
		{ echo 'WHAT="$(LISTS)", or some of them'; exit 2; }
	@for list in $(WHAT); do BUILD="$(BUILD)" sh tests/verify/$$list.sh --renew || exit; done

clean: ## 3 |  | remove what was built
	rm -rf $(BUILD)

$(BUILD):
	@mkdir -p $@

# Asked for only by what compiles errmap.h.
jsmn:
	$(call need,libjsmn-dev)
$(addprefix $(BUILD)/,$(JSMN_TESTS) errmap_dump kv_client bench_errmap): | jsmn
$(addprefix $(BUILD)/replay_errmap_,map packets answers): | jsmn

COMPILE = @echo "CC $@"; $(CC) $(WARNINGS)

# Changes when what is built would be built in another way, so that nothing stale passes a test.
SETTINGS = $(CC) $(CXX) $(STD) $(OPT) $(DEFINES) $(WARNINGS)
$(BUILD)/settings: FORCE | $(BUILD)
	@echo '$(SETTINGS)' | cmp -s - $@ || echo '$(SETTINGS)' > $@
FORCE:

$(BUILD)/test_link: tests/compile/link_a.c tests/compile/link_b.c $(HEADERS) $(SUPPORT) \
		$(BUILD)/settings
	$(COMPILE) $(LANGUAGE) $(OPT) $(DEFINES) -o $@ tests/compile/link_a.c tests/compile/link_b.c

$(BUILD)/test_%: test_%.c $(HEADERS) $(SUPPORT) $(BUILD)/settings
	$(COMPILE) $(LANGUAGE) $(OPT) $(DEFINES) -o $@ $< -lm -lpthread

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
	@echo "CC $@"; $(CXX) -std=c++11 -O2 -c -o $@ $<
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
LIBRARIES_transaction = -I/usr/include/postgresql -lpq
$(BUILD)/recipes/fleet: $(wildcard examples/storm/*.h)
$(BUILD)/recipes/%: examples/recipes/%.c $(HEADERS) $(wildcard examples/recipes/*.h) $(BUILD)/settings
	@mkdir -p $(@D)
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)
$(BUILD)/%: examples/%.c $(HEADERS) $(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)
$(BUILD)/%: examples/%.cpp $(HEADERS) $(BUILD)/settings
	@echo "CXX $@"; $(CXX) $(WARNINGS) -std=c++11 $(OPT) -o $@ $<
.SECONDEXPANSION:
$(BUILD)/%: examples/$$*/$$*.c $(HEADERS) $$(wildcard examples/*.h examples/$$*/*.h) \
		$(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< $(LIBRARIES)

$(BUILD)/together $(BUILD)/peers $(BUILD)/outage $(BUILD)/page: $(BUILD)/%: examples/storm/%.c $(HEADERS) \
		$(wildcard examples/storm/*.h) $(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -o $@ $< -lm
$(BUILD)/slow_server: tests/examples/slow_server.c examples/plumbing.h $(BUILD)/settings
	$(COMPILE) -std=c99 $(OPT) -o $@ $< -lpthread

$(BUILD)/storm: examples/storm/storm.c $(HEADERS) $(wildcard examples/storm/*.h) \
		$(BUILD)/settings
	$(COMPILE) -std=c99 -O2 -o $@ $< -lm
