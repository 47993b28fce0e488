//! The parsers of `targets` under libFuzzer. One program for all of them, because each would hold the whole server:
//! `CARD_PAYMENTS_FUZZ_TARGET` names one, and `CARD_PAYMENTS_FUZZ_FOLDER` the folder that gets its samples and its words.

#![no_main]

mod targets;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;

use self::targets::{TARGETS, Target};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory that reading may take: so much at least, and so much for each byte of an input.
const BYTES_FOR_ANY: usize = 4 * 1024 * 1024;
const BYTES_FOR_EACH: usize = 1024;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("CARD_PAYMENTS_FUZZ_TARGET").expect("CARD_PAYMENTS_FUZZ_TARGET names a target");
    TARGETS.iter().find(|target| target.name == name).expect("CARD_PAYMENTS_FUZZ_TARGET is a target")
});

fuzz_target!(init: prepare(), |input: &[u8]| {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    (TARGET.hold)(input);
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(taken <= BYTES_FOR_ANY + input.len() * BYTES_FOR_EACH, "{taken} bytes of memory");
});

/// Writes what libFuzzer begins with.
fn prepare() {
    let Ok(folder) = std::env::var("CARD_PAYMENTS_FUZZ_FOLDER") else { return };
    let corpus = Path::new(&folder).join("corpus");
    fs::create_dir_all(&corpus).expect("a folder");
    for (sample, number) in (TARGET.samples)().iter().zip(1..) {
        fs::write(corpus.join(format!("sample-{number:03}")), sample).expect("a sample");
    }
    let mut words = String::new();
    for word in TARGET.words {
        let escaped = word.bytes().fold(String::new(), |mut escaped, byte| {
            write!(escaped, "\\x{byte:02x}").expect("memory");
            escaped
        });
        writeln!(words, "\"{escaped}\"").expect("memory");
    }
    fs::write(Path::new(&folder).join("words"), words).expect("the words");
}
