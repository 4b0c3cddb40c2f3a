# retry.h and errmap.h: `make help` lists the targets.

CC = cc
STD = c99
OPT = -O2
DEFINES =
BUILD = build
SERVER = scripted
PREFIX = /usr/local
DESTDIR =

WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef \
	-Werror
LANGUAGE = $(if $(findstring ++,$(STD)),-x c++) -std=$(STD)
COMPILE = $(CC) $(LANGUAGE) $(WARNINGS) $(OPT) $(DEFINES) -I.
HEADERS = retry.h errmap.h

# Test programs: one for each tests/test_*.c, but for the parts of those that link several files.
PARTS = $(wildcard tests/test_*_[a-z].c)
TESTS = $(sort $(patsubst tests/%.c,%,$(filter-out $(PARTS),$(wildcard tests/test_*.c))) test_link)
PROGRAMS = $(addprefix $(BUILD)/,$(TESTS))

# $(call install,PACKAGES): installs with apt those that are missing, and says so.
install = @sh tests/deps.sh $(1)
DEPS = libjsmn-dev

.PHONY: help deps demo test check size bench clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

deps: ## install what demo and test need and this machine lacks
	$(call install,$(DEPS))

demo: deps $(BUILD)/kv_client ## the main job: a KV client outlives its server (SERVER=memcached: a real one)
	@if [ "$(SERVER)" = memcached ]; then sh tests/deps.sh memcached; fi
	@$(BUILD)/kv_client $(filter memcached,$(SERVER))

test: deps $(BUILD)/kv_client $(BUILD)/quickstart $(BUILD)/custom_strategy $(PROGRAMS) ## build and run the tests
	@CC="$(CC)" sh tests/run.sh $(PROGRAMS) tests/test_selection.sh \
		"tests/test_demo.sh $(BUILD)/kv_client"

check: $(PROGRAMS) ## the test programs alone, for CC=, STD=, OPT=, DEFINES=, BUILD=
	@sh tests/run.sh $(PROGRAMS)

$(BUILD): | deps
	@mkdir -p $@

$(BUILD)/test_link: tests/test_link_a.c tests/test_link_b.c $(HEADERS) tests/check.h | $(BUILD)
	@echo "CC $@"; $(COMPILE) -o $@ tests/test_link_a.c tests/test_link_b.c -x none $(LIBS)

$(BUILD)/test_%: tests/test_%.c $(HEADERS) tests/check.h | $(BUILD)
	@echo "CC $@"; $(COMPILE) -o $@ $< -x none -lm -lpthread $(LIBS)

$(BUILD)/bench_%: tests/bench_%.c $(HEADERS) | $(BUILD)
	@echo "CC $@"; $(CC) -std=c99 $(WARNINGS) -O2 -I. -o $@ $< -lm -lpthread

$(BUILD)/%: examples/%.c $(HEADERS) $(wildcard examples/*.h) | $(BUILD)
	@echo "CC $@"; $(CC) -std=c99 $(WARNINGS) $(OPT) -I. -o $@ $< $(LIBS)

HOSTED = test_clock test_threads test_link # need an operating system, or several files
qemu: deps ## the test programs on an emulated Cortex-M3, with 32-bit instants
	$(call install,gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm)
	@sh tests/qemu.sh $(BUILD) $(filter-out $(HOSTED),$(TESTS))

size: deps ## bytes of flash and RAM on Cortex-M0
	$(call install,gcc-arm-none-eabi picolibc-arm-none-eabi)
	@sh tests/size.sh

bench: deps $(BUILD)/bench_decision $(BUILD)/bench_budget ## one page of instruction counts and ratios
	$(call install,valgrind)
	@sh tests/bench.sh $(BUILD)

clean: ## remove what was built
	rm -rf $(BUILD)
