#!/usr/bin/env bash
# The platforms that programs are made for, and how: sourced by deploy/release.sh and its test, in the folder of the repository.
# shellcheck disable=SC2034

missing() {
    echo "error: $1" >&2
    exit 1
}

# Of each target, its name in those of files, with the processor as containers and Debian call it; and its name for zig.
declare -A platforms=(
    [x86_64-unknown-linux-musl]=linux-amd64
    [aarch64-unknown-linux-musl]=linux-arm64
    [x86_64-apple-darwin]=darwin-amd64
    [aarch64-apple-darwin]=darwin-arm64
    [x86_64-pc-windows-gnu]=windows-amd64
)
declare -A zig_targets=(
    [x86_64-unknown-linux-musl]=x86_64-linux-musl
    [aarch64-unknown-linux-musl]=aarch64-linux-musl
    [x86_64-apple-darwin]=x86_64-macos.12.0
    [aarch64-apple-darwin]=aarch64-macos.12.0
    [x86_64-pc-windows-gnu]=x86_64-windows-gnu
)

sysroot=$(rustc --print sysroot)

# How each target is linked. For Linux Rust brings a linker, and the C library; of ninety thousand pointers each would be a line of its own:
# two megabytes. For macOS and Windows zig has what the system offers.
linking() {
    case $1 in
        *-linux-musl) echo '-C linker=rust-lld -C linker-flavor=ld.lld -C link-arg=-zpack-relative-relocs' ;;
        *-apple-darwin) echo "-C linker=$PWD/deploy/zig-cc" ;;
        *-windows-gnu) echo "-C linker=$PWD/deploy/zig-cc -C dlltool=$PWD/deploy/zig-dlltool" ;;
    esac
}
# The oldest macOS that the programs run on, and the folder in which Rust would look for Apple's files.
export MACOSX_DEPLOYMENT_TARGET=12.0 SDKROOT=$PWD/deploy/apple

# A program of another system loads nothing but what that system has, and on macOS is content with the oldest one.
check_imports() {
    local program=$1 objdump=("$sysroot"/lib/rustlib/*/bin/llvm-objdump) loaded
    [ -x "${objdump[0]}" ] || missing 'there is no llvm-objdump: rustup component add llvm-tools'
    case $program in
        *-darwin-*)
            loaded=$("${objdump[0]}" --macho --dylibs-used "$program" | sed -n 's/^\t\(.*\) (compat.*/\1/p')
            ! grep -vE '^/usr/lib/libSystem\.B\.dylib$|^/System/Library/Frameworks/(CoreFoundation|Security)\.framework/' <<<"$loaded" ||
                missing "$program loads more than the system's"
            "${objdump[0]}" --macho --private-headers "$program" | grep -E "^ *minos ${MACOSX_DEPLOYMENT_TARGET/./\\.}\$" >/dev/null ||
                missing "$program is not for macOS $MACOSX_DEPLOYMENT_TARGET"
            ;;
        *-windows-*)
            loaded=$("${objdump[0]}" --private-headers "$program" | sed -n 's/^ *DLL Name: //p')
            ! grep -iE '^lib|^msvcr|^vcruntime|^zlib' <<<"$loaded" || missing "$program loads more than the system's"
            ;;
    esac
}
