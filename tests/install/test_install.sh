#!/bin/sh
# The ways to take the two headers in, each from an empty folder: copied, installed and found by
# pkg-config, CMake or Meson, fetched by CMake or Meson, and as a Zephyr module with stand-ins for
# Zephyr's functions. What examples/README.md says is taken from there. Usage: test_install.sh
# The last line is "N passed, N failed", and the exit status tells the same.
. "$(dirname "$0")/../support/check.sh"
unset MAKE MAKEFLAGS MFLAGS MAKELEVEL PKG_CONFIG_PATH CMAKE_PREFIX_PATH DESTDIR PREFIX

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
cc=${CC:-cc}
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef ${WERROR--Werror}"

# quiet COMMAND...: checks that it succeeds; if not, shows how its output begins
quiet() {
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $*"
        head -n 20 "$work/log"
    fi
}
refused() { ! "$@" > "$work/log" 2>&1; }
says() { grep -q -e "$1" "$work/log"; }
is() { [ "$1" = "$2" ] || { echo "expected \"$2\", got \"$1\""; false; }; }

# works NAME PROGRAM: it runs, and decides what it should
works() { check "$1: runs" is "$("$2" 2>&1)" "$version waits after KV_ERROR_MAP_RETRY_INDICATED"; }

# folder NAME: an empty folder, entered, with a program that is not part of the repository
folder() {
    mkdir "$work/$1" && cd "$work/$1" || exit 2
    cp "$root/tests/install/app.c" install_app.c
    cp "$root/tests/install/app.c" install_app.cpp
}

number() { sed -n "s/^#define RETRY_VERSION_$1 //p" "$root/retry.h"; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
check "retry.h has a version" is "$(echo "$version" | tr -d 0-9)" ..

# ---- Two files, copied ----------------------------------------------------------------------

folder copied
cp "$root/retry.h" "$root/errmap.h" .
quiet $cc -std=c99 $warnings install_app.c -o app
works "copied" ./app
quiet $cc -x c++ -std=c++11 $warnings install_app.c -o app_cxx
works "copied, C++" ./app_cxx

# ---- make install ---------------------------------------------------------------------------

# install_in FOLDER ARGUMENT...: make install in a folder that has a Makefile
install_in() {
    directory=$1
    shift
    (umask 077 && make -s -C "$directory" install "$@")
}
installed() { (cd "$1" && find . -type f | sort | tr '\n' ' '); }
files="./include/errmap.h ./include/retry.h ./share/cmake/retry/retryConfig.cmake"
files="$files ./share/cmake/retry/retryConfigVersion.cmake ./share/doc/retry/copyright ./share/pkgconfig/retry.pc "

quiet install_in "$root" "PREFIX=$work/first place"
quiet install_in "$root" "PREFIX=$work/first place" # again, over it
check "install: these files and no other" is "$(installed "$work/first place")" "$files"
check "install: the headers are the headers" cmp "$root/retry.h" "$work/first place/include/retry.h"
check "install: all may read" test -z "$(find "$work/first place" -type f ! -perm 644)"
check "install: the licence is the header's" is \
    "$(sed -n '/^   MIT License$/,$p' "$root/retry.h" | sed '$d; s/^   //')" \
    "$(cat "$work/first place/share/doc/retry/copyright")"
check "install: no place named" refused grep -r "$work" "$work/first place"
prefix=$work/prefix
mv "$work/first place" "$prefix" # what is installed can be moved

quiet install_in "$root" PREFIX=/usr DESTDIR="$work/stage"
check "staged: these files and no other" is "$(installed "$work/stage")" \
    "$(echo "$files" | sed 's|\./|./usr/|g')"
check "staged: the same" diff -r "$work/stage/usr" "$prefix"

echo theirs > "$work/stage/usr/include/other.h"
quiet make -s -C "$root" uninstall PREFIX=/usr DESTDIR="$work/stage"
check "uninstall: what is another's stays, alone" is "$(installed "$work/stage")" "./usr/include/other.h "

mkdir -p "$work/later/examples"
cp "$root/Makefile" "$root/errmap.h" "$work/later"
cp -r "$root/examples/cmake_fetch" "$root/examples/LICENSE" "$work/later/examples"
sed 's/\(define RETRY_VERSION_MINOR\) .*/\1 7/; s/\(define RETRY_VERSION_PATCH\) .*/\1 12/' "$root/retry.h" \
    > "$work/later/retry.h"
quiet install_in "$work/later" PREFIX="$work/later/usr"
check "a later version: pkg-config" grep -q "^Version: 5\.7\.12$" \
    "$work/later/usr/share/pkgconfig/retry.pc"

# cmake_install FOLDER: what CMake installs of this repository
cmake_install() {
    cmake -S "$root/examples/cmake_fetch" -B "$work/cmake_install" && cmake --install "$work/cmake_install" --prefix "$1"
}
quiet cmake_install "$work/by_cmake"
check "cmake --install: the same" diff -r "$work/by_cmake" "$prefix"

# ---- pkg-config -----------------------------------------------------------------------------

package() { PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config "$@" retry; }

folder pkgconfig
check "pkg-config: version" is "$(package --modversion)" "$version"
check "pkg-config: valid" package --validate
check "pkg-config: not version 6" refused package --atleast-version=6
flags=$(package --cflags)
quiet $cc -std=c99 $warnings $flags install_app.c -o app
works "pkg-config" ./app
quiet $cc -x c++ -std=c++11 $warnings $flags install_app.c -o app_cxx
works "pkg-config, C++" ./app_cxx

# ---- CMake ----------------------------------------------------------------------------------

configure() { CC=$cc cmake -S . -B "build" "-DCMAKE_PREFIX_PATH=$prefix" "$@"; }

folder cmake
cp "$root/tests/install/CMakeLists.txt" CMakeLists.txt
quiet configure
check "CMake: version" says "retry $version"
quiet cmake --build build
works "CMake" build/app_c
works "CMake, C++" build/app_cxx
mkdir jsmn
ln -s /usr/include/jsmn.h jsmn/jsmn.h
quiet configure "-Dretry_JSMN_INCLUDE_DIR=$work/cmake/jsmn"
check "CMake: another jsmn.h" grep -q "$work/cmake/jsmn" build/CMakeFiles/app_c.dir/flags.make
prefix=$work/later/usr # 5.7.12
for wanted in "" 5 5.7 5.0.0 5.7.12 "5.7.12 EXACT"; do
    rm -rf build
    quiet configure "-DWANTED=$wanted"
    check "CMake: $wanted is compatible" says "retry 5\.7\.12"
done
for wanted in 6 4.9 5.8 "5.7 EXACT"; do
    rm -rf build
    check "CMake: not $wanted" refused configure "-DWANTED=$wanted"
    check "CMake: not $wanted: says why" says "requested version"
done
prefix=$work/prefix

# ---- Meson ----------------------------------------------------------------------------------

folder meson
cp "$root/tests/install/meson.build" meson.build
quiet env CC="$cc" PKG_CONFIG_PATH="$prefix/share/pkgconfig" meson setup build
check "Meson: found by pkg-config" says "dependency retry found: YES $version"
quiet meson compile -C build
works "Meson" build/app
mkdir third_party
cp "$root/retry.h" "$root/errmap.h" third_party
quiet env CC="$cc" meson setup copied
check "Meson: not found by pkg-config" says "dependency retry found: NO"
quiet meson compile -C copied
works "Meson, with copies" copied/app

# ---- Fetched from a git address --------------------------------------------------------------

# A repository of these files, in the place of the address in examples/README.md and in the wrap.
git_here() { git -c user.name=test -c user.email=test@localhost -C "$work/origin" "$@"; }
mkdir "$work/origin"
cp -r "$root/retry.h" "$root/errmap.h" "$root/Makefile" "$root/README.md" "$root/examples" "$work/origin"
quiet git_here init --initial-branch=main
quiet git_here add .
quiet git_here commit --message="all of it"
quiet git_here tag "v$version"
here() { sed "s|https://git.example/retry.git|file://$work/origin|"; }

folder fetched
{
    echo 'cmake_minimum_required(VERSION 3.18)'
    echo 'project(fetched C)'
    echo 'add_executable(app install_app.c)'
    awk '/^```cmake$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/examples/README.md" | here
} > CMakeLists.txt
check "CMake, fetched: examples/README.md says how" grep -q "FetchContent_Declare.*file://" CMakeLists.txt
quiet env CC="$cc" cmake -S . -B build
quiet cmake --build build
works "CMake, fetched" build/app

folder wrapped
mkdir subprojects
cp -r "$root/examples/meson_wrap/." subprojects
here < "$root/examples/meson_wrap/retry.wrap" > subprojects/retry.wrap
cat > meson.build << 'END'
project('wrapped', 'c', default_options: ['c_std=c99', 'werror=true', 'warning_level=3'])
executable('app', 'install_app.c', dependencies: dependency('retry', version: ['>=5.0', '<6']))
END
quiet env CC="$cc" PKG_CONFIG_PATH= meson setup build
quiet meson compile -C build
works "Meson, fetched" build/app
sed -i "s/'>=5.0', '<6'/'>=6'/" meson.build
check "Meson, fetched: not version 6" refused env CC="$cc" PKG_CONFIG_PATH= meson setup later
check "Meson, fetched: says why" says "$version but need.*>=6"

# ---- ESP-IDF, a git dependency with `path:`, as far as its functions can be stood in for --------------

# Its component manager hands on that folder alone.
folder idf
mkdir managed_components
cp -r "$root/examples/idf_component" managed_components/retry
here < "$root/examples/idf_component/idf_component.yml" > managed_components/retry/idf_component.yml
cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.16)
project(stand_in C)
function(idf_component_register)
  cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  add_library(retry STATIC ${arg_SRCS})
  target_include_directories(retry PUBLIC ${arg_INCLUDE_DIRS})
endfunction()
add_subdirectory(managed_components/retry)
add_executable(app install_app.c)
target_link_libraries(app retry)
END
sed -i 's/define RETRY_IMPLEMENTATION/define ERRMAP_IMPLEMENTATION/' install_app.c # the component has retry.h's
quiet env CC="$cc" cmake -S . -B build
quiet cmake --build build
works "ESP-IDF, with stand-ins" build/app
printf 'function(idf_component_register)\nendfunction()\ninclude(managed_components/retry/CMakeLists.txt)\n' > early.cmake
quiet cmake -DCMAKE_BUILD_EARLY_EXPANSION=1 -P early.cmake

# ---- What registries want ------------------------------------------------------------------------------

packages=$root/examples/packages
folder vcpkg
cat > port.cmake << 'END'
set(CURRENT_PACKAGES_DIR ${CMAKE_CURRENT_LIST_DIR}/packages)
set(build ${CMAKE_CURRENT_LIST_DIR}/build)
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_from_git)
  cmake_parse_arguments(arg "" "OUT_SOURCE_PATH;URL;REF" "" ${ARGV})
  set(${arg_OUT_SOURCE_PATH} ${ROOT} PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure SOURCE_PATH source)
  run(cmake -S ${source} -B ${build})
endfunction()
function(vcpkg_cmake_install)
  run(cmake --install ${build} --prefix ${CURRENT_PACKAGES_DIR})
endfunction()
function(vcpkg_cmake_config_fixup CONFIG_PATH path)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${path} ${CURRENT_PACKAGES_DIR}/share/retry)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/share/cmake)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright FILE_LIST file)
  configure_file(${file} ${CURRENT_PACKAGES_DIR}/share/retry/copyright COPYONLY)
endfunction()
include(${PORT}/portfile.cmake)
END
quiet cmake "-DROOT=$root" "-DPORT=$packages/vcpkg/retry" -P port.cmake
check "vcpkg, with stand-ins: these files" is "$(installed packages)" "./include/errmap.h ./include/retry.h \
./share/pkgconfig/retry.pc ./share/retry/copyright ./share/retry/retryConfig.cmake ./share/retry/retryConfigVersion.cmake "
cp "$root/tests/install/CMakeLists.txt" CMakeLists.txt
quiet env CC="$cc" cmake -S . -B found "-DCMAKE_PREFIX_PATH=$work/vcpkg/packages"
check "vcpkg, with stand-ins: found" says "retry $version"
quiet cmake --build found
works "vcpkg, with stand-ins" found/app_c
check "vcpkg: its version" is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["version"])' \
    "$packages/vcpkg/retry/vcpkg.json")" "$version"

folder conan
mkdir -p conan/tools
cat > conan/__init__.py << 'END'
class ConanFile:
    pass
END
cat > conan/tools/cmake.py << 'END'
import subprocess
class CMake:
    def __init__(self, recipe):
        self.recipe = recipe
    def configure(self, build_script_folder):
        subprocess.check_call(["cmake", "-S", self.recipe.source_folder + "/" + build_script_folder, "-B", "build"])
    def install(self):
        subprocess.check_call(["cmake", "--install", "build", "--prefix", self.recipe.package_folder])
END
printf 'import shutil\ndef rename(recipe, old, new):\n    shutil.move(old, new)\n' > conan/tools/files.py
echo 'Git = None' > conan/tools/scm.py
cat > create.py << 'END'
import os, sys
sys.path[:0] = [".", sys.argv[1]]
from conanfile import RetryConan
recipe = RetryConan()
recipe.source_folder, recipe.package_folder = sys.argv[2], os.path.abspath("package")
recipe.build()
recipe.package()
print(recipe.version)
END
quiet env PYTHONDONTWRITEBYTECODE=1 python3 create.py "$packages/conan" "$root"
check "Conan, with stand-ins: its version" says "^$version$"
check "Conan, with stand-ins: these files" is "$(installed package)" \
    "$(echo "$files" | sed 's|./share/doc/retry/copyright||; s|^|./licenses/copyright |' | tr -s ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ //')"

check "Bazel: read as Python, whose syntax it has" python3 -c \
    'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$packages/bazel/BUILD.bazel"
for header in $(sed -n 's/.*hdrs = \["\(.*\)"\],/\1/p' "$packages/bazel/BUILD.bazel"); do
    check "Bazel: $header is there" test -e "$root/$header"
done

# ---- Zephyr, as far as its functions can be stood in for -----------------------------------------

folder zephyr
cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.20)
project(stand_in C)
add_executable(app install_app.c)
function(zephyr_include_directories)
  target_include_directories(app PRIVATE ${ARGV})
endfunction()
function(zephyr_library)
endfunction()
function(zephyr_library_sources)
  list(TRANSFORM ARGV PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(app PRIVATE ${ARGV})
endfunction()
add_subdirectory(${MODULE} module)
END
sed -i '/define RETRY_IMPLEMENTATION/d' install_app.c # the module compiles it
module=$root/examples/zephyr_module
for option in $(sed -n 's/^config \([A-Z_0-9]*\)$/-DCONFIG_\1=y/p' "$module/Kconfig"); do
    options="${options:-} $option"
done
check "Zephyr: the options" is "${options:-}" \
    " -DCONFIG_RETRY=y -DCONFIG_RETRY_ERRMAP=y"
for file in cmake kconfig; do
    check "Zephyr: $file of the module is there" test -e \
        "$module/$(sed -n "s/^  $file: //p" "$module/zephyr/module.yml")"
done
# shellcheck disable=SC2086 # one word an option
quiet env CC="$cc" cmake -S . -B build "-DMODULE=$module" -DRETRY_JSMN_DIR=/usr/include $options
quiet cmake --build build
works "Zephyr, with stand-ins" build/app
for text in examples/README.md examples/zephyr_module/zephyr/module.yml; do
    for variable in ZEPHYR_EXTRA_MODULES ZEPHYR_MODULES; do
        check "Zephyr: $text has $variable" grep -q -e "-D$variable=" "$root/$text"
    done
done

# ---- SDCC, which passes no struct by value ------------------------------------------------------

folder sdcc
printf '#define RETRY_NO_ATOMICS\n#define RETRY_IMPLEMENTATION\n#include "retry.h"\n' > whole.c
check "SDCC: not the whole header" refused sdcc -mstm8 --std-c99 "-I$root" -c whole.c
check "SDCC: says why" says "cannot pass structure"
for part in delay backoff retry-after connection; do
    quiet make -s -C "$root" cut PARTS=$part PREFIX=retry_ OUT="$work/sdcc/part.h"
    printf '#define RETRY_NO_ATOMICS\n#define RETRY_IMPLEMENTATION\n#include "part.h"\n' > part.c
    for core in stm8 z80; do
        quiet sdcc -m$core --std-c99 -c part.c -o part.rel
        check "SDCC, $core: $part" test -s part.rel
        rm -f part.rel
    done
done

finish
