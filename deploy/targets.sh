#!/usr/bin/env bash
# The platforms that programs are made for, and how: sourced by deploy/release.sh and its tests, in the folder of the repository.
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
mkdir -p "${CARGO_TARGET_DIR:-target}"
built=$(realpath "${CARGO_TARGET_DIR:-target}")

# The compiler of C.
export ZIG="${ZIG:-$(compgen -G "$PWD/target/zig/lib/python3*/site-packages/ziglang/zig")}"
[ -x "$ZIG" ] || missing 'there is no zig: python3 -m venv target/zig && target/zig/bin/pip install -r .ci/zig.txt'
export ZIG_GLOBAL_CACHE_DIR=$built/zig-cache ZIG_LOCAL_CACHE_DIR=$built/zig-cache

# for_target TARGET FLAGS COMMAND...: runs cargo with what compiles and links for a target, and with more flags for Rust; C_FLAGS are those
# for C. By itself zig would add checks for programmers.
for_target() {
    local name=${1//-/_} ar=$PWD/deploy/zig-ar
    [[ $1 != *-linux-musl ]] || ar='ar'
    env -u RUSTFLAGS ZIG_TARGET="${zig_targets[$1]}" "CC_$name=$PWD/deploy/zig-cc" "AR_$name=$ar" \
        "CFLAGS_$name=${C_FLAGS:-} -fno-sanitize=undefined" "CARGO_TARGET_${name^^}_RUSTFLAGS=$(linking "$1") $2" "${@:3}"
}

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

# Makes Wine ready to run programs of a folder.
prepare_wine() {
    wine=$(command -v wine64 || compgen -G '/usr/lib/wine/wine64') || missing 'there is no Wine; Debian has it in wine64'
    export WINEPREFIX=$1/wine WINEDEBUG=-all
    # Debian's Wine lacks this part of Windows. It needs no C library, which zig would compile once more, for minutes.
    cat >"$1/random.c" <<'END'
unsigned char __stdcall SystemFunction036(void *, unsigned long);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, unsigned long long size) { return SystemFunction036(data, size); }
int __stdcall DllMainCRTStartup(void *library, unsigned long reason, void *reserved) { return 1; }
END
    ZIG_TARGET=${zig_targets[x86_64-pc-windows-gnu]} deploy/zig-cc -shared -nostdlib -o "$1/bcryptprimitives.dll" "$1/random.c" -ladvapi32
}
