//! Compiles the machine.

fn main() {
    println!("cargo::rerun-if-changed=machine.c");
    let is = |part: &str, wanted: &str| {
        std::env::var(format!("CARGO_CFG_TARGET_{part}")).is_ok_and(|it| it == wanted)
    };
    if is("OS", "linux") && is("ENV", "gnu") {
        cc::Build::new().file("machine.c").opt_level(2).warnings(true).compile("machine");
    }
}
