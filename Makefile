# climg: no configure step. `make deps demo` on a bare machine, then `make deps check`.
# All outputs go to $(BUILD).

VERSION := 0.2.0
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
PKG_CONFIG ?= pkg-config
PYTHON ?= /usr/bin/python3
SANITIZE ?=

ifneq ($(ISAL)$(JANSSON),)
$(error ISAL= and JANSSON= are gone: climg is always built with both libraries, which make deps installs)
endif
PACKAGES := libpng zlib libjpeg libisal libtiff-4 libwebp libwebpmux libwebpdemux lcms2 OpenCL jansson
OBJ := $(BUILD)/obj

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wpointer-arith -Wwrite-strings -Wformat=2 -Wno-format-nonliteral $(if $(CI),-Werror)
ifneq ($(SANITIZE),)
OBJ := $(BUILD)/obj-sanitize
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
OPTIMISE ?= -O2
CFLAGS ?= -g
# -ffile-prefix-map: the program contains no folder names, so builds are reproducible.
ALL_CFLAGS = -std=c11 -ffp-contract=off -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=120 -DCLIMG_VERSION='"$(VERSION)"' -Isrc $(PACKAGE_CFLAGS) \
             $(CPPFLAGS) $(OPTIMISE) $(WARNINGS) $(SANITIZERS) -ffile-prefix-map=$(CURDIR)=. $(CFLAGS) -pthread
ALL_LDFLAGS = $(SANITIZERS) $(LDFLAGS) -pthread
# Expanded when a recipe runs, as `make deps demo` installs the packages first.
PACKAGE_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lm

SOURCES := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
STAGES := $(sort $(wildcard src/stages/*.c))
KERNELS := $(sort $(wildcard kernels/*.cl kernels/*.h))
OBJECTS := $(SOURCES:src/%.c=$(OBJ)/%.o) $(OBJ)/generated/stages.o $(OBJ)/generated/formats.o $(OBJ)/generated/kernels.o $(OBJ)/generated/answers.o $(OBJ)/generated/manual.o
PROGRAM := $(OBJ)/climg
FUZZERS := $(filter-out replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(OBJ)/unit/%,$(wildcard tests/unit/test_*.c))

BUILD_PACKAGES := build-essential pkg-config libpng-dev zlib1g-dev libisal-dev libjpeg-dev libtiff-dev libwebp-dev liblcms2-dev libjansson-dev ocl-icd-opencl-dev opencl-headers \
                  ocl-icd-libopencl1 pocl-opencl-icd
CHECK_PACKAGES := libcmocka-dev python3-numpy python3-scipy python3-pil python3-tifffile python3-pytest \
                  python3-pytest-xdist netpbm ffmpeg x264 python3-pywt slurm-wlm munge parallel file libimage-exiftool-perl \
                  fish zsh python3-yaml libjpeg-turbo-progs python3-skimage python3-opencv fonts-dejavu-core \
                  icc-profiles-free strace
DOCS_PACKAGES := pandoc python3-numpy python3-pil fonts-dejavu-core
DEB_PACKAGES := debhelper dpkg-dev lintian
LINT_PACKAGES := clang clang-format clang-tidy cppcheck
# The runtime of libFuzzer and the sanitizers, in clang's version.
CLANG_RUNTIME := $$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$$/libclang-rt-\1-dev/p')
BENCH_PACKAGES := libvips-tools graphicsmagick imagemagick hyperfine python3-opencv python3-numpy python3-tifffile python3-pil
# Another implementation of the transform, for comparison. Debian 13 has no package of it.
IF_THERE := $$(apt-cache pkgnames python3-dtcwt | grep -x python3-dtcwt)

.PHONY: all packages tools deps deps-check deps-lint deps-bench deps-deb deps-docs deps-workflows dist sbom deb demo docs check check-unit check-cli check-reference check-cluster check-generated \
        check-layers check-libjpeg check-torture check-threads check-fuzz coverage fuzz fuzz-build torture bench generate answers sums format lint install uninstall clean
all: $(BUILD)/climg

# All cores unless the user says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT_INSTALL := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends

# deps: packages for building and the demonstration on Debian 12 and 13 and Ubuntu 24.04 or later. deps-check: also those for tests.
deps:
	$(SUDO) apt-get update -q
	$(APT_INSTALL) $(BUILD_PACKAGES)
deps-check: deps
	$(APT_INSTALL) $(CHECK_PACKAGES) $(IF_THERE)
deps-lint: deps
	$(APT_INSTALL) $(LINT_PACKAGES) $(CLANG_RUNTIME)
deps-docs: deps
	$(APT_INSTALL) $(DOCS_PACKAGES)
deps-deb: deps
	$(APT_INSTALL) $(DEB_PACKAGES)
# Snakemake is large (0.7 GB): its test is skipped if it is not installed.
deps-workflows: deps-check
	$(APT_INSTALL) snakemake ocrmypdf
deps-bench: deps
	$(APT_INSTALL) $(BENCH_PACKAGES) $(IF_THERE)

# `make deps demo`, `make deps check`: installs packages before anything is compiled or run; those of tests only for tests.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(OBJECTS) $(UNIT_TESTS) check-layers: | $(if $(filter check check-%,$(MAKECMDGOALS)),deps-check,deps)
endif

# Names missing libraries once, instead of one error per compiler.
$(OBJECTS) $(UNIT_TESTS): | packages
packages: | $(filter deps deps-check,$(MAKECMDGOALS))
	@type $(PKG_CONFIG) >/dev/null 2>&1 || { echo "climg is built with pkg-config: make deps installs it on Debian and Ubuntu" >&2; exit 1; }
	@for package in $(PACKAGES); do $(PKG_CONFIG) --exists $$package || missing="$$missing $$package"; done; \
	 [ -z "$$missing" ] || { echo "climg is built with what pkg-config does not find here:$$missing" >&2; \
	     echo "on Debian and Ubuntu make deps installs $(BUILD_PACKAGES)" >&2; exit 1; }

$(BUILD)/climg: $(PROGRAM)
	@mkdir -p $(@D)
	@ln -sf $(abspath $(PROGRAM)) $@

$(PROGRAM): $(OBJECTS)
	$(CC) $(ALL_LDFLAGS) -o $@ $(OBJECTS) $(LIBS)

$(OBJ)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/generated/%.o: $(OBJ)/generated/%.c Makefile
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# All stages: each file src/stages/foo_bar.c defines `const struct stage stage_foo_bar`.
$(OBJ)/generated/stages.c: $(STAGES) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "engine/stage.h"'; \
	   for s in $(basename $(notdir $(STAGES))); do echo "extern const struct stage stage_$$s;"; done; \
	   echo 'const struct stage *const stages[] = {'; \
	   for s in $(basename $(notdir $(STAGES))); do echo "    &stage_$$s,"; done; \
	   echo '    NULL};'; } > $@

# All formats: each line `const struct format format_foo = {` in src/image/*/*.c.
$(OBJ)/generated/formats.c: $(wildcard src/image/*/*.c) Makefile
	@mkdir -p $(@D)
	@names=$$(sed -n 's/^const struct format \(format_[a-z0-9_]*\) = {$$/\1/p' $(wildcard src/image/*/*.c)); \
	 { echo '#include "image/format.h"'; \
	   for f in $$names; do echo "extern const struct format $$f;"; done; \
	   echo 'const struct format *const formats[] = {'; \
	   for f in $$names; do echo "    &$$f,"; done; \
	   echo '    NULL};'; } > $@

# Kernels are embedded as bytes: no limit of string literals, and no files at run time. Each text has its headers inside, each
# once; #line makes the compiler's messages name file and line.
EXPAND := function put(file,  line, n) { if (file in done) return; done[file]; printf "\#line 1 \"%s\"\n", file; \
	while ((getline line < ("kernels/" file)) > 0) { n++; \
	if (line ~ /^\#include "/) { split(line, part, "\""); put(part[2]); printf "\#line %d \"%s\"\n", n + 1, file } \
	else print (line == "\#pragma once" ? "" : line) } }
$(OBJ)/generated/kernels.c: $(KERNELS) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "device/source.h"'; echo '#include <stddef.h>'; \
	   for k in builtins.h $(notdir $(filter %.cl,$(KERNELS))); do echo "static const char text_$$(basename $$k .cl | tr . _)[] = {"; \
	     awk '$(EXPAND) BEGIN { put(ARGV[1]) }' $$k | od -An -v -tx1 | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; done; \
	   echo "const char kernels_sum[] = \"$$(cat $(KERNELS) | cksum)\";"; \
	   echo 'const struct kernel_source kernel_sources[] = {'; \
	   for k in builtins.h $(notdir $(filter %.cl,$(KERNELS))); do b=$$(basename $$k .cl); \
	     edge=$$(awk '$(EXPAND) BEGIN { put(ARGV[1]) }' $$k | grep -c '^.line 1 "edge.h"$$'); \
	     echo "    {\"$$b\", text_$$(echo $$b | tr . _), $$edge},"; done; \
	   echo '    {NULL, NULL, false}};'; } > $@

# The questions and answers of --selftest.
$(OBJ)/generated/answers.c: src/selftest/answers.txt src/selftest/sums.txt Makefile
	@mkdir -p $(@D)
	@{ echo '#include "selftest/selftest.h"'; for t in answers sums; do echo "const char selftest_$$t[] = {"; \
	   od -An -v -tx1 src/selftest/$$t.txt | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; done; } > $@

# The prose of the manual page.
$(OBJ)/generated/manual.c: src/cli/manual.txt Makefile
	@mkdir -p $(@D)
	@{ echo '#include "cli/cli.h"'; echo 'const char manual_text[] = {'; \
	   od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; } > $@

# Loops over bytes and over the host's pixels: ten times as fast vectorised, which -O2 does not do.
$(addprefix $(OBJ)/,filters/merge_sums.o image/png/filter.o image/sample.o image/difference.o): OPTIMISE = -O3
$(addprefix $(OBJ)/register/,brightness.o fourier.o levels.o page_angle.o refine.o search.o): OPTIMISE = -O3

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

# Five commands, each with a line that says what to look at; the last line is the next command.
comma := ,
DEMO := $(BUILD)/demo
try = @echo 'climg $(1)'; echo '    $(2)'; $(BUILD)/climg $(1)
demo: $(BUILD)/climg
	@mkdir -p $(DEMO)
	$(call try,samples/night.jpg --denoise $(DEMO)/night.png,removed the noise of a camera at night)
	$(call try,samples/page.jpg --rotate 2.3 --crop 400x560 --gray --background 40$(comma)method=divide$(comma)light=yes --threshold otsu $(DEMO)/page.png,made a page in uneven light black and white)
	$(call try,samples/gel.png --background 40$(comma)light=yes --levels auto $(DEMO)/gel.png,removed the uneven background of a gel)
	$(call try,samples/shots/*.jpg --align samples/shots/1.jpg $(DEMO)/shots/,lined up five shaken shots)
	$(call try,samples/valley.jpg --wavelet --mosaic=gain=2 $(DEMO)/valley.png,drew the wavelet transform: four sizes and six directions of detail)
	@echo 'Compare samples/ with $(DEMO)/, then docs/tutorial.md goes on. Next:'
	@echo '    $(if $(SUDO),sudo )make install'

# The tests: C units without a device, whole commands, and pixels against independent mathematics.
# CLIMG_DEVICE chooses the device. SANITIZE=1 builds and runs with AddressSanitizer and UBSan.
# Test data is random, but the same for the same sources. SEED=random: new data; SEED=N: that of an earlier run.
export CLIMG := $(abspath $(BUILD))/climg
export PYTHON
SEED ?=
ifeq ($(MAKELEVEL),0)
ifneq ($(filter check check-% coverage torture,$(MAKECMDGOALS)),)
ifeq ($(SEED),random)
export CLIMG_TEST_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
$(info test data: SEED=$(CLIMG_TEST_SEED))
else
export CLIMG_TEST_SEED := $(or $(SEED),$(CLIMG_TEST_SEED),$(shell tests/seed))
endif
endif
endif
ifneq ($(SANITIZE),)
# LLVM, inside the driver, replaces a thread's signal stack, which the sanitizer would not find at the thread's end.
export ASAN_OPTIONS := use_sigaltstack=0
export LSAN_OPTIONS := suppressions=$(abspath tests/lsan.supp):print_suppressions=0
endif
# Builds everything, runs all tests even if some fail, and ends with one sentence. Cluster, command and torture tests often wait, so they
# run next to the reference tests; the + lets these makes share the jobs. Each part appends a line for a test that failed or was skipped to
# the file RESULTS.
RESULTS := $(abspath $(BUILD))/results
TEST = $(MAKE) --no-print-directory -k CLIMG_RESULTS=$(RESULTS)
check: tools $(BUILD)/climg $(UNIT_TESTS) $(FUZZERS:%=$(OBJ)/replay/%) $(BUILD)/bench/experiments
	@rm -f $(RESULTS)
	+@status=0; \
	$(TEST) check-generated check-layers check-libjpeg check-unit check-fuzz || status=1; \
	$(TEST) check-reference check-cluster check-cli check-torture || status=1; \
	tests/results $(RESULTS) $$status
# Programs and Python modules that tests use.
TEST_PROGRAMS := ffmpeg x264 pamtopfm exiftool file script fish zsh parallel
TEST_MODULES := numpy scipy PIL tifffile pytest xdist pywt yaml skimage
FIND_MODULES := 'import importlib.util, sys; print(*(name for name in sys.argv[1:] if not importlib.util.find_spec(name)))'
tools: | $(if $(filter deps,$(MAKECMDGOALS)),deps-check)
	@missing=$$($(PYTHON) -c $(FIND_MODULES) $(TEST_MODULES)) || missing=$(PYTHON); \
	for program in $(TEST_PROGRAMS); do type $$program >/dev/null 2>&1 || missing="$$missing $$program"; done; \
	$(PKG_CONFIG) --exists cmocka || missing="$$missing cmocka"; \
	[ -z "$$missing" ] || { echo "make check needs" $$missing", which make deps-check installs on Debian and Ubuntu" >&2; exit 1; }

# $(call note_failure,COMMAND) records a failed test; COMMAND repeats it. $(failed) records the target itself and ends its recipe.
note_failure = echo "failed $(1)" >>"$${CLIMG_RESULTS:-/dev/null}"
failed = { $(call note_failure,make $@ SEED=$$CLIMG_TEST_SEED); exit 1; }

UNIT_OBJECTS := $(filter-out $(OBJ)/main.o,$(OBJECTS))
$(OBJ)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) tests/torture/calls.h $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(UNIT_OBJECTS) $(LIBS) -lcmocka

# Replacements of functions of libc and OpenCL.
WRAPPED = $(shell $(CC) -E -D_GNU_SOURCE $(PACKAGE_CFLAGS) tests/unit/failing_calls.h | grep -o '\b__wrap_\w*' | sort -u)
$(OBJ)/unit/test_faults: ALL_LDFLAGS += $(WRAPPED:__wrap_%=-Wl,--wrap=%)
$(OBJ)/unit/test_profile: ALL_LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc

# Runs all, several at a time, even if some fail; prints what those said.
UNIT_RUNS := $(UNIT_TESTS:$(OBJ)/unit/%=run-%)
.PHONY: $(UNIT_RUNS)
check-unit: $(UNIT_TESTS)
	+@$(MAKE) --no-print-directory -k $(UNIT_RUNS)
$(UNIT_RUNS): run-%: $(OBJ)/unit/%
	@$< >$<.log 2>&1 || { cat $<.log; $(call note_failure,CLIMG_TEST_SEED=$$CLIMG_TEST_SEED $<); exit 1; }

check-cli: $(BUILD)/climg
	tests/cli/run

# Runs a part of the cases marked `some`, chosen by the seed; ALL=1: all of them. One process more than cores, as some wait.
check-reference: $(BUILD)/climg $(BUILD)/bench/experiments
	$(if $(ALL),CLIMG_TEST_ALL=1) $(PYTHON) -m pytest -q -n $$(($(shell nproc) + 1)) tests/reference

# A real Slurm (controller and two nodes, on free ports, gone at the end) and GNU parallel.
check-cluster: $(BUILD)/climg
	$(PYTHON) -m pytest -q tests/cluster

# libFuzzer on everything that reads untrusted data: SECONDS per target, with AddressSanitizer and UBSan (needs clang: make deps-lint).
# Findings go to build/fuzz; tests/fuzz/keep.sh adds them to the corpus.
SECONDS ?= 60
$(OBJ)/fuzz/%: tests/fuzz/%.c $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $< $(UNIT_OBJECTS) $(LIBS)
fuzz-build: $(FUZZERS:%=$(OBJ)/fuzz/%)
fuzz: $(BUILD)/climg
	$(PYTHON) tests/fuzz/seeds.py $(BUILD)/fuzz/seeds
	for target in $(FUZZERS); do tar -C $(BUILD)/fuzz/seeds -xzf tests/fuzz/corpus/$$target.tar.gz || exit 1; done
	$(MAKE) --no-print-directory fuzz-build CC=clang WARNINGS= OBJ=$(BUILD)/obj-fuzz \
	    SANITIZERS='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
	@for target in $(FUZZERS); do mkdir -p $(BUILD)/fuzz/$$target; \
	    (cd $(BUILD)/fuzz && $(abspath $(BUILD))/obj-fuzz/fuzz/$$target -max_total_time=$(SECONDS) -timeout=10 -max_len=65536 \
	        -rss_limit_mb=2048 $$target seeds/$$target) || exit 1; done

# Replays the corpus and all earlier findings, with any compiler. Standard input is a pipe, as in scripts: parse.c looks at it.
$(OBJ)/replay/%: tests/fuzz/%.c tests/fuzz/replay.c $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< tests/fuzz/replay.c $(UNIT_OBJECTS) $(LIBS)
check-fuzz: $(FUZZERS:%=$(OBJ)/replay/%)
	@rm -rf $(BUILD)/replay
	@mkdir -p $(BUILD)/replay
	@for target in $(FUZZERS); do tar -C $(BUILD)/replay -xzf tests/fuzz/corpus/$$target.tar.gz && echo "fuzz, $$target:" && \
	    true | $(OBJ)/replay/$$target $(BUILD)/replay/$$target/* $$(find tests/fuzz/found -path "*/$$target/*" -type f) \
	        2>$(BUILD)/replay/said || { tail -n 3 $(BUILD)/replay/said; $(failed); }; done

# Fails calls of memory, files, threads and OpenCL, one at a time, for each call stack: hours. ALL=1: every call, days.
# TORTURE='--tries 6000': a part of them. Not with AddressSanitizer, which would have to be loaded first.
torture: $(BUILD)/climg
	$(PYTHON) tests/torture/torture.py $(if $(ALL),--all) $(TORTURE)
check-torture: $(BUILD)/climg
	$(if $(SANITIZE),,$(PYTHON) tests/torture/torture.py --jobs 2 --tries 400 || $(failed))

# ThreadSanitizer on commands that use threads. Races inside the driver are ignored.
check-threads:
	$(MAKE) --no-print-directory OBJ=$(BUILD)/obj-threads SANITIZERS=-fsanitize=thread $(BUILD)/obj-threads/climg
	CLIMG=$(abspath $(BUILD))/obj-threads/climg tests/threads

# Lines and branches of src/ that tests run, including those that run in the driver's threads. Inlined functions count once.
COVERAGE_END := $(abspath $(BUILD))/coverage/end.o
coverage:
	rm -rf $(BUILD)/obj-coverage
	@mkdir -p $(dir $(COVERAGE_END))
	$(CC) -c -o $(COVERAGE_END) tests/coverage/end.c
	$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage OBJ=$(BUILD)/obj-coverage OPTIMISE='-O0 --coverage -fprofile-update=atomic' \
	    CPPFLAGS='-Dalways_inline=noinline -DCONFINE_ALSO=\"$(abspath $(BUILD))/obj-coverage\"' LDFLAGS='--coverage $(COVERAGE_END) -Wl,--wrap=_exit,--wrap=raise' check-unit check-fuzz all $(BUILD)/coverage/bench/experiments
	CLIMG=$(abspath $(BUILD))/coverage/climg tests/coverage/measure.py $(BUILD)/obj-coverage

# Checks which folder includes which.
check-layers:
	$(PYTHON) tests/layers || $(failed)

# Compiles src/image/jpeg for each interface of libjpeg: Debian's libjpeg-turbo has version 62, Ubuntu's 80.
check-libjpeg:
	@mkdir -p $(BUILD)/libjpeg
	@for version in 62 70 80; do \
	    printf '#include <jconfig.h>\n#define JCONFIG_INCLUDED\n#undef JPEG_LIB_VERSION\n#define JPEG_LIB_VERSION %s\n' $$version >$(BUILD)/libjpeg/$$version.h; \
	    $(CC) $(ALL_CFLAGS) -Werror -fsyntax-only -include $(BUILD)/libjpeg/$$version.h $(wildcard src/image/jpeg/*.c) || $(failed); done

# The committed manual page must match the option tables, and the packaging files VERSION.
check-generated: $(BUILD)/climg
	$(BUILD)/climg --generate=man | diff -u docs/climg.1 - || $(failed)
	grep -q '^Version: *$(VERSION)$$' docs/packaging/climg.spec && grep -q '^ *version "$(VERSION)"$$' docs/packaging/climg.rb || $(failed)
generate: $(BUILD)/climg
	$(BUILD)/climg --generate=man > docs/climg.1
	sed -i 's/^\(Version: *\).*/\1$(VERSION)/' docs/packaging/climg.spec
	sed -i 's/^\( *version "\).*"/\1$(VERSION)"/' docs/packaging/climg.rb

# Computes the answers of --selftest with numpy and scipy. Run it after adding a stage or changing a question.
answers:
	$(PYTHON) tests/reference/make_answers.py src/selftest/answers.txt
# `make answers sums`: climg is built with the new answers.
ifneq ($(filter answers,$(MAKECMDGOALS)),)
src/selftest/answers.txt: answers ;
endif

# Writes the checksums that all devices must reproduce. Run it after a change that is meant to change bits, or of the questions. If an answer
# is wrong, it stops and leaves the files.
sums: $(BUILD)/climg
	$(BUILD)/climg --selftest -v > $(BUILD)/selftest.txt
	sed -n 's/^  [0-9.e+-]*  \([0-9a-f]\{8\}\)  .*/\1/p' $(BUILD)/selftest.txt > src/selftest/sums.txt
	tests/reference/sums.py --update cpu

# Converts README and docs/ to HTML in $(BUILD)/site and renders their pictures there (make deps-docs). The files in docs/pictures are not
# changed, as other library versions write other bytes: docs/make_pictures.py renews them.
SITE := $(BUILD)/site
PAGES := README CHANGELOG CONTRIBUTING $(basename $(wildcard docs/*.md)) docs/workflows/README
docs: $(BUILD)/climg | $(filter deps-docs,$(MAKECMDGOALS))
	$(call needs,pandoc,deps-docs)
	rm -rf $(SITE)
	mkdir -p $(SITE)
	cp -r docs/pictures docs/*.svg docs/help.schema.json $(SITE)/
	$(PYTHON) docs/make_pictures.py $(BUILD)/climg $(SITE)/pictures
	for page in $(PAGES); do to=$$(basename $$page); [ $$to != README ] || to=$$(basename ./$${page%README}); [ $$to != . ] || to=index; \
	    CLIMG_PAGE=$$to pandoc --from gfm --to html5 --standalone --template docs/page.html --lua-filter docs/links.lua --no-highlight --toc --toc-depth 2 \
	        --metadata pagetitle=$$to --variable here=$$to.html --output $(SITE)/$$to.html $$page.md || exit 1; done
	CLIMG_PAGE=manual pandoc --from man --to html5 --standalone --template docs/page.html --lua-filter docs/links.lua --no-highlight --toc --toc-depth 2 --metadata pagetitle=manual \
	    --variable here=manual.html --output $(SITE)/manual.html docs/climg.1

# Benchmark programs: one main file each, and shared files.
BENCH_SHARED := tests/bench/bench.c
$(BUILD)/bench/experiments: BENCH_SHARED += tests/bench/lab.c $(wildcard tests/bench/experiments_*.c) $(THREADED_LOOPS)
# Loops to compare OpenCL with are compiled for this processor, if the compiler can.
NATIVE := -O3 -march=native -fopenmp
THREADED_LOOPS = $(shell echo 'int main(void) { return 0; }' | $(CC) $(NATIVE) -x c - -o /dev/null 2>/dev/null && echo $(NATIVE))
$(BUILD)/bench/%: tests/bench/%.c $(wildcard tests/bench/*.[ch]) $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(BENCH_SHARED) $(UNIT_OBJECTS) $(LIBS)

# Compares with vips, OpenCV and others, as far as they are installed. EXPERIMENTS=1: the tables of 2011 instead.
ifneq ($(EXPERIMENTS),)
bench: $(BUILD)/bench/experiments
	$(BUILD)/bench/experiments --json $(BUILD)/bench/experiments.json --markdown $(BUILD)/bench/experiments.md
else
bench: $(BUILD)/climg $(BUILD)/bench/stages $(BUILD)/bench/planes
	$(PYTHON) tests/bench/stages.py --json $(BUILD)/bench/stages.json --svg $(BUILD)/bench/stages.svg \
	    --markdown $(BUILD)/bench/stages.md
	$(PYTHON) -W ignore tests/bench/compare --json $(BUILD)/bench/compare.json
	$(PYTHON) tests/bench/front.py | tee $(BUILD)/bench/front.md
	$(PYTHON) -W ignore tests/bench/wavelet.py
	$(BUILD)/bench/planes
endif

C_FILES := $(wildcard src/*.c src/*/*.[ch] src/*/*/*.[ch] tests/unit/*.[ch] tests/bench/*.[ch] tests/fuzz/*.c tests/torture/*.[ch])
format:
	clang-format -i $(C_FILES)
TIDY_FLAGS = -std=c11 -ffp-contract=off -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=120 -DCLIMG_VERSION=\"x\" -Isrc \
             $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
# Kernels must parse by themselves, with their own defaults, as an editor sees them.
OPENCL_C := clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only
lint: check-layers
	for k in $(wildcard kernels/*.cl); do $(OPENCL_C) $$k && tests/builtins $$k || exit 1; done
	for k in $(filter-out %cpu.cl %_samples.cl kernels/filter_gpu.cl kernels/rank_columns_gpu.cl kernels/rank_digits_gpu.cl kernels/moments.cl kernels/despeckle.cl kernels/focus.cl,$(wildcard kernels/*.cl)); do $(OPENCL_C) -DIMAGES -DLANES=1 $$k && tests/builtins $$k -DIMAGES -DLANES=1 || exit 1; done
	clang-format --dry-run --Werror $(C_FILES)
	cppcheck --std=c11 --quiet --inline-suppr --error-exitcode=1 --enable=warning,style,performance,portability \
	    --suppress=missingIncludeSystem --suppress=duplicateCondition --library=posix -Isrc $(wildcard src/*.c src/*/*.c src/*/*/*.c tests/bench/*.c)
	printf '%s\n' $(SOURCES) $(wildcard tests/bench/*.c) | xargs -P $(shell nproc) -n 4 sh -c 'clang-tidy --quiet "$$@" -- $(TIDY_FLAGS) 2>/dev/null' -

# Installed files, as from:to.
ZSH_COMPLETIONS ?= share/zsh/site-functions
INSTALLED := docs/climg.1:share/man/man1/climg.1 completions/climg.bash:share/bash-completion/completions/climg \
             completions/climg.zsh:$(ZSH_COMPLETIONS)/_climg completions/climg.fish:share/fish/vendor_completions.d/climg.fish \
             $(foreach page,README.md CONTRIBUTING.md CHANGELOG.md LICENSE samples/README.md docs/CITATION.cff docs/help.schema.json \
                 docs/workflows/README.md $(wildcard docs/*.md docs/*.svg docs/pictures/*),$(page):share/doc/climg/$(page))
# So that no first use waits for a compiler: root compiles for all users, who copy what they need. WARM=no leaves it out.
WARM ?= yes
COMPILE_KERNELS = echo "compiling kernels for this processor, one to three minutes (WARM=no leaves it out)"; \
    [ "$$(id -u)" != 0 ] || { export XDG_CACHE_HOME=/var/cache; rm -rf /var/cache/climg; }; \
    env -u POCL_CACHE_DIR -u CLIMG_DEVICE $(PREFIX)/bin/climg --warm --device cpu >/dev/null || \
        echo "no kernels were compiled: the first use of each stage does it"; \
    [ "$$(id -u)" != 0 ] || ! [ -d /var/cache/climg ] || chmod -R go+rX /var/cache/climg
install: $(BUILD)/climg
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/climg
	@for pair in $(INSTALLED); do install -D -m 644 $${pair%%:*} $(DESTDIR)$(PREFIX)/$${pair#*:} || exit 1; done
	$(if $(DESTDIR)$(filter no,$(WARM)),,@$(COMPILE_KERNELS))
uninstall:
	@rm -f $(DESTDIR)$(PREFIX)/bin/climg $(foreach pair,$(INSTALLED),$(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$(pair))))
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || rm -rf /var/cache/climg

# Succeeds in a git checkout, fails in an unpacked release.
HAS_COMMIT := [ -e .git ] && git rev-parse -q --verify HEAD >/dev/null 2>&1
# The commit's time in seconds since 1970. The files of a release have it, too.
DATE = $(or $(SOURCE_DATE_EPOCH),$(shell if $(HAS_COMMIT); then git log -1 --format=%ct; else stat -c %Y Makefile; fi))
# $(call needs,PROGRAM,TARGET) as a recipe's first line stops it if PROGRAM is missing.
needs = @type $(1) >/dev/null 2>&1 || { echo "make $@ needs $(1), which make $(2) installs on Debian and Ubuntu" >&2; exit 1; }

# Packs the commit as a release: the same bytes for the same commit, independent of settings of git and gzip. In an unpacked release, packs
# its files.
DIST := climg-$(VERSION)
dist:
	@mkdir -p $(BUILD)
	@if $(HAS_COMMIT); then git -c tar.umask=0002 -c core.autocrlf=false archive --format=tar --prefix=$(DIST)/ HEAD; \
	 else tar -c --exclude=./$(BUILD) --exclude=__pycache__ --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(DATE) \
	      --transform 's|^[.]|$(DIST)|' .; fi | GZIP= gzip -n -9 > $(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

# Lists the libraries that climg is linked with here, as CycloneDX, dated DATE.
sbom: packages
	@mkdir -p $(BUILD)
	SOURCE_DATE_EPOCH=$(DATE) $(PYTHON) docs/packaging/sbom.py $(VERSION) $(PACKAGES) > $(BUILD)/$(DIST).cdx.json

# Builds $(BUILD)/climg_*.deb from the release with Debian's tools (make deps-deb).
deb: dist | $(filter deps-deb,$(MAKECMDGOALS))
	$(call needs,dh,deps-deb)
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb
	tar -C $(BUILD)/deb -xzf $(BUILD)/$(DIST).tar.gz
	cp -r docs/packaging/debian $(BUILD)/deb/$(DIST)/
	printf 'climg (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n' $(VERSION) \
	    "$$(sed -n 's/^Maintainer: //p' docs/packaging/debian/control)" "$$(date -R -u -d @$(DATE))" > $(BUILD)/deb/$(DIST)/debian/changelog
	cd $(BUILD)/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u CC dpkg-buildpackage -us -uc -b
	mv $(BUILD)/deb/climg*.deb $(BUILD)/
	@echo "$(if $(SUDO),sudo )apt install ./$$(ls -t $(BUILD)/climg_$(VERSION)_*.deb | head -1)"

clean:
	rm -rf $(BUILD)
