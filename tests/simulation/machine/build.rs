//! Compiles the machine.

fn main() {
    println!("cargo::rerun-if-changed=machine.c");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        cc::Build::new().file("machine.c").opt_level(2).warnings(true).compile("machine");
    }
}
