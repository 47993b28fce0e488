//! The help of the whole program: on one screen, in groups. clap knows groups of options only.

use std::fmt::Write;

use clap::Command;
use tools::terminal::HEAD;

/// The commands of a developer: they call a test server, or bring their own.
const DEVELOP: [&str; 15] = [
    "serve", "exec", "listen", "trigger", "seed", "explain", "requests", "report", "record", "replay",
    "examine", "coverage", "bench", "mcp", "openapi",
];

/// What is true of all commands.
const RULES: &str = "\
Text for people; with --json one JSON object per record and line.
Exit code 0 is success, 1 a refusal that begins with \"error: \", 2 wrong usage.
card-payments help COMMAND explains a command, with its options and an example.
Without a command it serves: card-payments --listen 127.0.0.1:8080.
A running server has the guides at /docs/guide/.
";

/// Replaces the help of the program.
pub fn in_groups(command: Command) -> Command {
    let is_of_developers = |one: &&Command| DEVELOP.contains(&one.get_name());
    // In the order in which a developer meets them.
    let develop: Vec<_> = DEVELOP.iter().filter_map(|name| command.find_subcommand(name)).collect();
    let operate: Vec<_> = command.get_subcommands().filter(|one| !is_of_developers(one)).collect();
    let mut text = format!(
        "{}.\n\n{HEAD}Usage:{HEAD:#} {} [COMMAND] [OPTIONS]\n",
        command.get_about().map(ToString::to_string).unwrap_or_default(),
        command.get_name()
    );
    // Writing to a string does not fail.
    for (heading, group) in
        [("Develop, with a test server", develop), ("Operate, on a server's database", operate)]
    {
        let _ = writeln!(text, "\n{HEAD}{heading}:{HEAD:#}");
        for one in group {
            let _ = writeln!(text, "  {HEAD}{:11}{HEAD:#}  {}", one.get_name(), first_sentence(one));
        }
    }
    let _ = write!(text, "\n{RULES}");
    command.override_help(text)
}

fn first_sentence(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    about.split(". ").next().unwrap_or_default().to_owned()
}
