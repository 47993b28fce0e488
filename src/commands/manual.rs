//! `card-payments manual`: a page of the manual for each command.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use serde_json::json;
use tools::terminal::Printer;

/// Write the manual, a page for each command, into a folder. Needs no database.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments manual --to ~/.local/share/man/man1\n\n\
    Prints each file; with --json {page}.")]
pub struct Manual {
    /// The folder, which is there. Pages of the same names are replaced.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Print one JSON object per page, one per line.
    #[arg(long)]
    json: bool,
}

/// Runs the command, for a program that has this command line.
pub fn run(Manual { to, json }: Manual, program: Command) -> Result<(), Box<dyn Error>> {
    let mut program = without_help(program);
    program.build();
    let mut printer = Printer::new(json);
    write_pages(&program, &to, &mut printer)?;
    printer.end()
}

/// Takes the subcommands `help` away, which have nothing to say of their own.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

fn write_pages(command: &Command, folder: &Path, printer: &mut Printer) -> Result<(), Box<dyn Error>> {
    let man = Man::new(command.clone()).source(concat!("card-payments ", env!("CARGO_PKG_VERSION")));
    let file = folder.join(man.get_filename());
    let written = page(command, &man).and_then(|page| std::fs::write(&file, page));
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    let file = file.display().to_string();
    printer.print(&json!({ "page": file }), &file);
    command.get_subcommands().try_for_each(|one| write_pages(one, folder, printer))
}

fn page(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(notes) = command.get_after_help() {
        // Lines stay lines, unlike those of the library: examples are among them.
        writeln!(page, ".SH NOTES\n.nf\n{}\n.fi", in_troff(&notes.to_string()))?;
    }
    Ok(page)
}

/// Spells what means something to troff: a backslash, and a dot or an apostrophe at the beginning of a line.
fn in_troff(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let shield = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        format!("{shield}{}", line.replace('\\', "\\e"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_an_example_is_no_request_of_troff() {
        assert_eq!(in_troff("a\n.b \\n\n'c.d"), "a\n\\&.b \\en\n\\&'c.d");
    }
}
