#!/usr/bin/env bash
# Compiles and links a small program of Rust and C for each target of deploy/targets.sh, as deploy/release.sh does with the server, checks
# what it loads, and runs it where this machine can: that of Windows under Wine. A target that rustup has not added is an error.
set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2' ERR
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. deploy/targets.sh

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cat >"$root/half.c" <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int half(const char *text, double number) {
    char *copy = malloc(strlen(text) + 1);
    int length = printf("%s and %.2f\n", strcpy(copy, text), pow(number, 0.5) / 2);
    fflush(stdout);
    free(copy);
    return length;
}
END
cat >"$root/small.rs" <<'END'
use std::collections::HashMap;
use std::io::{Read, Write};

unsafe extern "C" {
    fn half(text: *const std::ffi::c_char, number: f64) -> std::ffi::c_int;
}

#[cfg(target_os = "macos")]
mod apple {
    #[link(name = "CoreFoundation", kind = "framework")]
    unsafe extern "C" {
        pub fn CFRelease(object: *const std::ffi::c_void);
    }
    #[link(name = "Security", kind = "framework")]
    unsafe extern "C" {
        pub fn SecCopyErrorMessageString(status: i32, reserved: *const std::ffi::c_void) -> *const std::ffi::c_void;
    }
}

fn main() {
    assert_eq!(unsafe { half(c"C".as_ptr(), 16.0) }, 11);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sender = std::thread::spawn(move || std::net::TcpStream::connect(address).unwrap().write_all(b"Rust").unwrap());
    let mut received = String::new();
    listener.accept().unwrap().0.read_to_string(&mut received).unwrap();
    sender.join().unwrap();
    let map: HashMap<_, _> = [(received, std::time::SystemTime::now())].into();
    let panicked = std::panic::catch_unwind(|| map["nothing"]);
    assert!(panicked.is_err());
    #[cfg(target_os = "macos")]
    unsafe {
        apple::CFRelease(apple::SecCopyErrorMessageString(0, std::ptr::null()));
    }
    println!("{} says so", map.keys().next().unwrap());
}
END

cat >"$root/library.rs" <<'END'
#[unsafe(no_mangle)]
pub extern "C" fn half(number: f64) -> f64 {
    number / 2.0
}
END

# runs PROGRAM COMMAND...: it says what it should.
runs() {
    "$@" >"$root/output" 2>/dev/null
    tr -d '\r' <"$root/output" | diff - <(printf 'C and 2.00\nRust says so\n')
}
for target in "${!platforms[@]}"; do
    [ -d "$sysroot/lib/rustlib/$target/lib" ] || missing "there is no $target: rustup target add $target"
    program=$root/small-${platforms[$target]}
    independent=-fPIC
    [[ $target != *-windows-* ]] || program+=.exe independent=
    export ZIG_TARGET=${zig_targets[$target]}
    deploy/zig-cc -O2 ${independent:+"$independent"} -fno-sanitize=undefined -c -o "$root/half.o" "$root/half.c"
    read -ra linked <<<"$(linking "$target")"
    # Without the symbols that profiles strip; on macOS the signature is that of what is left.
    rustc --edition 2024 -O -C strip=symbols --target "$target" "${linked[@]}" -C link-arg="$root/half.o" -o "$program" "$root/small.rs"
    check_imports "$program"
    # Some crates are compiled as libraries of the system, too, though nothing loads them.
    [[ $target == *-linux-* ]] || rustc --edition 2024 --crate-type cdylib --target "$target" "${linked[@]}" -o "$root/library" "$root/library.rs"
    case $target in
        "$(uname -m)"-*-linux-*) runs "$program" ;;
        *-linux-*) ! emulator=$(command -v "qemu-${target%%-*}-static") || runs "$emulator" "$program" ;;
        *-windows-*)
            prepare_wine "$root"
            runs timeout 120 "$wine" "$program"
            ;;
    esac
    echo "$target: links"
done
