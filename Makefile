# climg: no configure step. `make deps demo` on a bare machine, then `make deps check`.
# Everything that is made goes under $(BUILD).

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
PACKAGES := libpng zlib libjpeg libisal libtiff-4 OpenCL jansson
OBJ := $(BUILD)/obj

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wpointer-arith -Wwrite-strings -Wformat=2 -Wno-format-nonliteral $(if $(CI),-Werror)
ifneq ($(SANITIZE),)
OBJ := $(BUILD)/obj-sanitize
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
OPTIMISE ?= -O2
CFLAGS ?= -g
# The names of folders must not get into the program: the same bits come out of any.
ALL_CFLAGS = -std=c11 -ffp-contract=off -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=120 -DCLIMG_VERSION='"$(VERSION)"' -Isrc $(PACKAGE_CFLAGS) \
             $(CPPFLAGS) $(OPTIMISE) $(WARNINGS) $(SANITIZERS) -ffile-prefix-map=$(CURDIR)=. $(CFLAGS) -pthread
ALL_LDFLAGS = $(SANITIZERS) $(LDFLAGS) -pthread
# Asked when a recipe runs: `make deps demo` installs them first.
PACKAGE_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
LIBS = $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lm

SOURCES := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
STAGES := $(sort $(wildcard src/stages/*.c))
KERNELS := $(sort $(wildcard kernels/*.cl kernels/*.h))
OBJECTS := $(SOURCES:src/%.c=$(OBJ)/%.o) $(OBJ)/generated/stages.o $(OBJ)/generated/formats.o $(OBJ)/generated/kernels.o $(OBJ)/generated/answers.o $(OBJ)/generated/manual.o
PROGRAM := $(OBJ)/climg
FUZZERS := $(filter-out replay,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
UNIT_TESTS := $(patsubst tests/unit/%.c,$(OBJ)/unit/%,$(wildcard tests/unit/test_*.c))

BUILD_PACKAGES := build-essential pkg-config libpng-dev zlib1g-dev libisal-dev libjpeg-dev libtiff-dev libjansson-dev ocl-icd-opencl-dev opencl-headers \
                  ocl-icd-libopencl1 pocl-opencl-icd
CHECK_PACKAGES := libcmocka-dev python3-numpy python3-scipy python3-pil python3-tifffile python3-pytest \
                  python3-pytest-xdist netpbm ffmpeg x264 python3-pywt slurm-wlm munge parallel file libimage-exiftool-perl \
                  fish zsh python3-yaml
DOCS_PACKAGES := pandoc python3-numpy python3-pil fonts-dejavu-core
DEB_PACKAGES := debhelper dpkg-dev lintian
LINT_PACKAGES := clang clang-format clang-tidy cppcheck
# What libFuzzer and the sanitizers of clang link with, of clang's own version.
CLANG_RUNTIME := $$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$$/libclang-rt-\1-dev/p')
BENCH_PACKAGES := libvips-tools graphicsmagick imagemagick hyperfine python3-opencv python3-numpy python3-tifffile python3-pil
# Another implementation of the transform, to compare with; Debian 13 has none.
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

# What building and the demonstration need, on Debian 12 and 13 and Ubuntu 24.04 or later; then what tests add.
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
# Snakemake is large (0.7 GB): its test runs where it is.
deps-workflows: deps-check
	$(APT_INSTALL) snakemake
deps-bench: deps
	$(APT_INSTALL) $(BENCH_PACKAGES) $(IF_THERE)

# `make deps demo`, `make deps check`: nothing is compiled or run before the packages are there, those of tests for tests only.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(OBJECTS) $(UNIT_TESTS) check-layers: | $(if $(filter check check-%,$(MAKECMDGOALS)),deps-check,deps)
endif

# What is missing is said once, not by each compiler that runs.
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

# The list of stages is the list of files in src/stages: foo_bar.c defines `const struct stage stage_foo_bar`.
$(OBJ)/generated/stages.c: $(STAGES) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "engine/stage.h"'; \
	   for s in $(basename $(notdir $(STAGES))); do echo "extern const struct stage stage_$$s;"; done; \
	   echo 'const struct stage *const stages[] = {'; \
	   for s in $(basename $(notdir $(STAGES))); do echo "    &stage_$$s,"; done; \
	   echo '    NULL};'; } > $@

# The list of formats is that of the lines `const struct format format_foo = {` in the files of src/image/*/.
$(OBJ)/generated/formats.c: $(wildcard src/image/*/*.c) Makefile
	@mkdir -p $(@D)
	@names=$$(sed -n 's/^const struct format \(format_[a-z0-9_]*\) = {$$/\1/p' $(wildcard src/image/*/*.c)); \
	 { echo '#include "image/format.h"'; \
	   for f in $$names; do echo "extern const struct format $$f;"; done; \
	   echo 'const struct format *const formats[] = {'; \
	   for f in $$names; do echo "    &$$f,"; done; \
	   echo '    NULL};'; } > $@

# The kernels are embedded as bytes, so that no string-literal limit applies and no file is looked for at run time.
$(OBJ)/generated/kernels.c: $(KERNELS) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "device/source.h"'; echo '#include <stddef.h>'; \
	   for k in $(KERNELS); do echo "static const char text_$$(basename $$k | tr . _)[] = {"; \
	     od -An -v -tx1 $$k | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; done; \
	   echo "const char kernels_sum[] = \"$$(cat $(KERNELS) | cksum)\";"; \
	   echo 'const struct kernel_source kernel_sources[] = {'; \
	   for k in $(KERNELS); do b=$$(basename $$k); echo "    {\"$$b\", text_$$(echo $$b | tr . _)},"; done; \
	   echo '    {NULL, NULL}};'; } > $@

# What --selftest asks, embedded in the same way.
$(OBJ)/generated/answers.c: src/selftest/answers.txt src/selftest/sums.txt Makefile
	@mkdir -p $(@D)
	@{ echo '#include "selftest/selftest.h"'; for t in answers sums; do echo "const char selftest_$$t[] = {"; \
	   od -An -v -tx1 src/selftest/$$t.txt | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; done; } > $@

# The prose of the manual page.
$(OBJ)/generated/manual.c: src/cli/manual.txt Makefile
	@mkdir -p $(@D)
	@{ echo '#include "cli/cli.h"'; echo 'const char manual_text[] = {'; \
	   od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '0};'; } > $@

# Loops over bytes, ten times as fast as vectors; -O2 leaves them alone, as it does those over the host's pixels.
$(OBJ)/image/png/filter.o $(OBJ)/image/sample.o: OPTIMISE = -O3
$(addprefix $(OBJ)/filters/,brightness.o fourier.o levels.o refine.o sampled.o search.o): OPTIMISE = -O3

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)

DEMO := $(BUILD)/demo
demo: $(BUILD)/climg
	@mkdir -p $(DEMO)
	$(BUILD)/climg samples/photo.jpg --denoise $(DEMO)/photo-clean.jpg --timing
	$(BUILD)/climg samples/scene.png --wavelet --scale 4 $(DEMO)/scene-wavelet-x4.png --timing
	$(BUILD)/climg samples/zoneplate.png --scale 1/2 --sharpen 0.7 $(DEMO)/zoneplate-half.png --timing
	@echo "Open $(DEMO)/photo-clean.jpg and samples/photo.jpg to compare; then scene-wavelet-x4.png beside it, four"
	@echo "levels of the wavelet transform of samples/scene.png, six orientations each, and the lowpass, enlarged"
	@echo "four times; then zoneplate-half.png, which is samples/zoneplate.png at half its size. docs/tutorial.md goes on."

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
# LLVM, inside the driver, takes a thread's signal stack for its own, which the sanitizer would miss at the thread's end.
export ASAN_OPTIONS := use_sigaltstack=0
export LSAN_OPTIONS := suppressions=$(abspath tests/lsan.supp):print_suppressions=0
endif
# Builds everything, runs all tests even if some fail, and ends with one sentence. Cluster and command tests mostly wait, so they run
# next to the reference tests. Each part appends a line for a test that failed or was skipped to the file RESULTS.
RESULTS := $(abspath $(BUILD))/results
TEST = $(MAKE) --no-print-directory -k CLIMG_RESULTS=$(RESULTS)
check: tools $(BUILD)/climg $(UNIT_TESTS) $(FUZZERS:%=$(OBJ)/replay/%) $(BUILD)/bench/experiments
	@rm -f $(RESULTS)
	@status=0; \
	$(TEST) check-generated check-layers check-libjpeg check-unit check-fuzz || status=1; \
	$(TEST) check-reference check-cluster check-cli || status=1; \
	$(TEST) check-torture || status=1; \
	tests/results $(RESULTS) $$status
# Programs and Python modules that tests use.
TEST_PROGRAMS := ffmpeg x264 pamtopfm exiftool file script fish zsh parallel
TEST_MODULES := numpy scipy PIL tifffile pytest xdist pywt yaml
FIND_MODULES := 'import importlib.util, sys; print(*(name for name in sys.argv[1:] if not importlib.util.find_spec(name)))'
tools: | $(if $(filter deps,$(MAKECMDGOALS)),deps-check)
	@missing=$$($(PYTHON) -c $(FIND_MODULES) $(TEST_MODULES)) || missing=$(PYTHON); \
	for program in $(TEST_PROGRAMS); do type $$program >/dev/null 2>&1 || missing="$$missing $$program"; done; \
	$(PKG_CONFIG) --exists cmocka || missing="$$missing cmocka"; \
	[ -z "$$missing" ] || { echo "make check needs" $$missing", which make deps-check installs on Debian and Ubuntu" >&2; exit 1; }

# $(call note_failure,COMMAND): COMMAND repeats the test that failed. $(failed) ends a recipe, which is itself the test.
note_failure = echo "failed $(1)" >>"$${CLIMG_RESULTS:-/dev/null}"
failed = { $(call note_failure,make $@ SEED=$$CLIMG_TEST_SEED); exit 1; }

UNIT_OBJECTS := $(filter-out $(OBJ)/main.o,$(OBJECTS))
$(OBJ)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) tests/torture/calls.h $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(UNIT_OBJECTS) $(LIBS) -lcmocka

# What stands in the place of libc and OpenCL.
WRAPPED = $(shell $(CC) -E -D_GNU_SOURCE $(PACKAGE_CFLAGS) tests/unit/failing_calls.h | grep -o '\b__wrap_\w*' | sort -u)
$(OBJ)/unit/test_faults: ALL_LDFLAGS += $(WRAPPED:__wrap_%=-Wl,--wrap=%)

check-unit: $(UNIT_TESTS)
	@status=0; for test in $(UNIT_TESTS); do \
	    $$test || { $(call note_failure,CLIMG_TEST_SEED=$$CLIMG_TEST_SEED $$test); status=1; }; done; exit $$status

check-cli: $(BUILD)/climg
	tests/cli/run

# Of families of many like cases each run takes some, by its seed; ALL=1 all. One process more than there are cores, as some wait.
check-reference: $(BUILD)/climg $(BUILD)/bench/experiments
	$(if $(ALL),CLIMG_TEST_ALL=1) $(PYTHON) -m pytest -q -n $$(($(shell nproc) + 1)) tests/reference

# A real Slurm (controller and two nodes, on free ports, gone at the end) and GNU parallel.
check-cluster: $(BUILD)/climg
	$(PYTHON) -m pytest -q tests/cluster

# libFuzzer on whatever reads what others wrote: SECONDS each, with AddressSanitizer and UBSan (needs clang: make deps-lint).
# What it finds lies in build/fuzz; tests/fuzz/keep.sh makes the corpus of it with which the next one begins.
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

# The corpus and all that was ever found once more, by any compiler.
$(OBJ)/replay/%: tests/fuzz/%.c tests/fuzz/replay.c $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< tests/fuzz/replay.c $(UNIT_OBJECTS) $(LIBS)
check-fuzz: $(FUZZERS:%=$(OBJ)/replay/%)
	@rm -rf $(BUILD)/replay
	@mkdir -p $(BUILD)/replay
	@for target in $(FUZZERS); do tar -C $(BUILD)/replay -xzf tests/fuzz/corpus/$$target.tar.gz && echo "fuzz, $$target:" && \
	    $(OBJ)/replay/$$target $(BUILD)/replay/$$target/* $$(find tests/fuzz/found -path "*/$$target/*" -type f) 2>/dev/null || $(failed); done

# Calls of memory, files, threads and OpenCL, failed in turn, by each way that leads to them: hours. ALL=1: every call, days.
# TORTURE='--tries 6000': a part of it, as a check does. AddressSanitizer would have to be loaded first.
torture: $(BUILD)/climg
	$(PYTHON) tests/torture/torture.py $(if $(ALL),--all) $(TORTURE)
check-torture: $(BUILD)/climg
	$(if $(SANITIZE),,$(PYTHON) tests/torture/torture.py --jobs 2 --tries 400 || $(failed))

# Races, with ThreadSanitizer, of what works with threads: the driver's own are not climg's.
check-threads:
	$(MAKE) --no-print-directory OBJ=$(BUILD)/obj-threads SANITIZERS=-fsanitize=thread $(BUILD)/obj-threads/climg
	CLIMG=$(abspath $(BUILD))/obj-threads/climg tests/threads

# Lines and branches of src/ that tests run, with a part of torture's tries: the driver's threads count, too. What is
# inlined in many places counts once.
COVERAGE_END := $(abspath $(BUILD))/coverage/end.o
coverage:
	rm -rf $(BUILD)/obj-coverage
	@mkdir -p $(dir $(COVERAGE_END))
	$(CC) -c -o $(COVERAGE_END) tests/coverage/end.c
	$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage OBJ=$(BUILD)/obj-coverage OPTIMISE='-O0 --coverage -fprofile-update=atomic' \
	    CPPFLAGS=-Dalways_inline=noinline LDFLAGS='--coverage $(COVERAGE_END) -Wl,--wrap=_exit,--wrap=raise' check-unit check-fuzz all $(BUILD)/coverage/bench/experiments
	CLIMG=$(abspath $(BUILD))/coverage/climg tests/coverage/measure.py $(BUILD)/obj-coverage

# Who may include whom.
check-layers:
	$(PYTHON) tests/layers || $(failed)

# Debian's libjpeg-turbo has libjpeg's interface 62, Ubuntu's 80: the sources fit all that there are.
check-libjpeg:
	@mkdir -p $(BUILD)/libjpeg
	@for version in 62 70 80; do \
	    printf '#include <jconfig.h>\n#define JCONFIG_INCLUDED\n#undef JPEG_LIB_VERSION\n#define JPEG_LIB_VERSION %s\n' $$version >$(BUILD)/libjpeg/$$version.h; \
	    $(CC) $(ALL_CFLAGS) -Werror -fsyntax-only -include $(BUILD)/libjpeg/$$version.h $(wildcard src/image/jpeg/*.c) || $(failed); done

# The manual page comes from the option tables, the version from above; what is committed must be what they say now.
check-generated: $(BUILD)/climg
	$(BUILD)/climg --generate=man | diff -u docs/climg.1 - || $(failed)
	grep -q '^Version: *$(VERSION)$$' docs/packaging/climg.spec && grep -q '^ *version "$(VERSION)"$$' docs/packaging/climg.rb || $(failed)
generate: $(BUILD)/climg
	$(BUILD)/climg --generate=man > docs/climg.1
	sed -i 's/^\(Version: *\).*/\1$(VERSION)/' docs/packaging/climg.spec
	sed -i 's/^\( *version "\).*"/\1$(VERSION)"/' docs/packaging/climg.rb

# What --selftest asks, from numpy and scipy: after a stage was added or its question changed.
answers:
	$(PYTHON) tests/reference/make_answers.py src/selftest/answers.txt

# The sums of the bits that all devices give: after a change that is meant to change them, or of the questions.
sums: $(BUILD)/climg
	$(BUILD)/climg --selftest -v | sed -n 's/^  [0-9.e+-]*  \([0-9a-f]\{8\}\)  .*/\1/p' > $(BUILD)/sums.txt
	mv $(BUILD)/sums.txt src/selftest/sums.txt
	tests/reference/sums.py --update wide

# The README and docs/ as pages in $(BUILD)/site, with pictures made anew (make deps-docs). Those of docs/pictures stay, as other versions of
# libraries and other devices write other bytes: docs/make_pictures.py renews them.
SITE := $(BUILD)/site
PAGES := README CHANGELOG CONTRIBUTING $(basename $(wildcard docs/*.md)) docs/workflows/README
docs: $(BUILD)/climg | $(filter deps-docs,$(MAKECMDGOALS))
	$(call needs,pandoc,deps-docs)
	rm -rf $(SITE)
	mkdir -p $(SITE)
	cp -r docs/pictures docs/*.svg $(SITE)/
	$(PYTHON) docs/make_pictures.py $(BUILD)/climg $(SITE)/pictures
	for page in $(PAGES); do to=$$(basename $$page); [ $$to != README ] || to=$$(basename ./$${page%README}); [ $$to != . ] || to=index; \
	    pandoc --from gfm --to html5 --standalone --template docs/page.html --lua-filter docs/links.lua --no-highlight --toc --toc-depth 2 \
	        --metadata pagetitle=$$to --variable here=$$to.html --output $(SITE)/$$to.html $$page.md || exit 1; done
	pandoc --from man --to html5 --standalone --template docs/page.html --no-highlight --metadata pagetitle=manual \
	    --variable here=manual.html --output $(SITE)/manual.html docs/climg.1

# The benchmark programs: one main file each, and what they share.
BENCH_SHARED := tests/bench/bench.c
$(BUILD)/bench/experiments: BENCH_SHARED += tests/bench/lab.c $(wildcard tests/bench/experiments_*.c) $(THREADED_LOOPS)
# The loops that OpenCL is compared with are for this processor, if the compiler can.
NATIVE := -O3 -march=native -fopenmp
THREADED_LOOPS = $(shell echo 'int main(void) { return 0; }' | $(CC) $(NATIVE) -x c - -o /dev/null 2>/dev/null && echo $(NATIVE))
$(BUILD)/bench/%: tests/bench/%.c $(wildcard tests/bench/*.[ch]) $(UNIT_OBJECTS)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(BENCH_SHARED) $(UNIT_OBJECTS) $(LIBS)

# What is installed of vips, OpenCV and the like is compared with. EXPERIMENTS=1: the tables of 2011 instead.
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
# Kernels parse as an editor sees them: by themselves, with the defaults that stand in them.
OPENCL_C := clang -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only
lint: check-layers
	for k in $(wildcard kernels/*.cl); do $(OPENCL_C) $$k && tests/builtins $$k || exit 1; done
	for k in $(filter-out %wide.cl %_samples.cl kernels/convolution_grouped.cl kernels/filter_grouped.cl kernels/rank_columns_grouped.cl kernels/rank_digits.cl,$(wildcard kernels/*.cl)); do $(OPENCL_C) -DIMAGES -DLANES=1 $$k && tests/builtins $$k -DIMAGES -DLANES=1 || exit 1; done
	clang-format --dry-run --Werror $(C_FILES)
	cppcheck --std=c11 --quiet --inline-suppr --error-exitcode=1 --enable=warning,style,performance,portability \
	    --suppress=missingIncludeSystem --suppress=duplicateCondition --library=posix -Isrc $(wildcard src/*.c src/*/*.c src/*/*/*.c tests/bench/*.c)
	printf '%s\n' $(SOURCES) $(wildcard tests/bench/*.c) | xargs -P $(shell nproc) -n 4 sh -c 'clang-tidy --quiet "$$@" -- $(TIDY_FLAGS) 2>/dev/null' -

# What is installed where: from:to.
ZSH_COMPLETIONS ?= share/zsh/site-functions
INSTALLED := docs/climg.1:share/man/man1/climg.1 completions/climg.bash:share/bash-completion/completions/climg \
             completions/climg.zsh:$(ZSH_COMPLETIONS)/_climg completions/climg.fish:share/fish/vendor_completions.d/climg.fish
install: $(BUILD)/climg
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/climg
	for pair in $(INSTALLED); do install -D -m 644 $${pair%%:*} $(DESTDIR)$(PREFIX)/$${pair#*:} || exit 1; done
	@echo "Each user may run climg --warm once: it builds what every stage needs, so that no first use waits for a compiler."
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/climg $(foreach pair,$(INSTALLED),$(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$(pair))))

# Is this a git checkout, rather than an unpacked release?
HAS_COMMIT := [ -e .git ] && git rev-parse -q --verify HEAD >/dev/null 2>&1
# The commit's time in seconds since 1970. The files of a release have it, too.
DATE = $(or $(SOURCE_DATE_EPOCH),$(shell if $(HAS_COMMIT); then git log -1 --format=%ct; else stat -c %Y Makefile; fi))
# $(call needs,PROGRAM,TARGET): a recipe's first line.
needs = @type $(1) >/dev/null 2>&1 || { echo "make $@ needs $(1), which make $(2) installs on Debian and Ubuntu" >&2; exit 1; }

# What is committed, as a release. The same commit gives the same bytes, whatever its maker's settings of git and gzip. An unpacked
# release gives the files that it came with.
DIST := climg-$(VERSION)
dist:
	@mkdir -p $(BUILD)
	@if $(HAS_COMMIT); then git -c tar.umask=0002 -c core.autocrlf=false archive --format=tar --prefix=$(DIST)/ HEAD; \
	 else tar -c --exclude=./$(BUILD) --exclude=__pycache__ --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(DATE) \
	      --transform 's|^[.]|$(DIST)|' .; fi | GZIP= gzip -n -9 > $(BUILD)/$(DIST).tar.gz
	@echo $(BUILD)/$(DIST).tar.gz

# The libraries that climg is linked with here, as CycloneDX; dated SOURCE_DATE_EPOCH, or as the commit is.
sbom: packages
	@mkdir -p $(BUILD)
	SOURCE_DATE_EPOCH=$(DATE) $(PYTHON) docs/packaging/sbom.py $(VERSION) $(PACKAGES) > $(BUILD)/$(DIST).cdx.json

# $(BUILD)/climg_*.deb of that, by Debian's own tools (make deps-deb).
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

clean:
	rm -rf $(BUILD)
