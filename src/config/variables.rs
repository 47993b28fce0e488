//! The program's environment variables: empty ones, which count as unset, and misspelled ones.

use std::error::Error as _;
use std::ffi::OsStr;
use std::fmt;
use std::num::{IntErrorKind, ParseIntError};

use base::clock::TESTS_AS_OF;
use base::variables::set_variable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command};

use super::{DatabaseOptions, FixtureOptions, Secrets, ServeOptions, VaultKeySource};

const PREFIX: &str = "CARD_PAYMENTS_";
/// Variables of the commands that call a running server, and of those that run beside one.
const OF_COMMANDS: [&str; 5] = [
    "CARD_PAYMENTS_SERVER",
    "CARD_PAYMENTS_KEY",
    "CARD_PAYMENTS_WEBHOOK_KEY",
    "CARD_PAYMENTS_URL",
    "CARD_PAYMENTS_ACQUIRER_BOOK",
];

pub fn serve_options() -> Command {
    let options = FixtureOptions::augment_args(ServeOptions::augment_args(Command::new("serve")));
    DatabaseOptions::augment_args(options).disable_help_flag(true)
}

/// Returns a command whose options, and those of its own commands, take no empty variable, and no switch that says `false`, beside
/// which other options would be refused.
pub fn without_empty_variables(command: Command) -> Command {
    let is_empty = |option: &Arg| {
        let is_off = |value: &OsStr| !option.get_action().takes_values() && value == "false";
        option.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty() || is_off(&value))
    };
    let own =
        command.mut_args(|option| if is_empty(&option) { option.env(None::<&'static str>) } else { option });
    own.mut_subcommands(without_empty_variables)
}

pub fn variable(option: &Arg) -> String {
    option.get_env().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns which variable holds the value that is refused, and why, where no argument holds it: clap names the option only.
pub fn wrong_variable(
    error: &clap::Error,
    program: &Command,
    arguments: &[impl AsRef<OsStr>],
) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return None;
    }
    let Some(ContextValue::String(named)) = error.get(ContextKind::InvalidArg) else { return None };
    // An option that is not built has no text yet.
    let mut program = program.clone();
    program.build();
    let option = option_of(&program, named)?;
    let flag = format!("--{}", option.get_long()?);
    let is_given = |argument: &OsStr| {
        argument
            .to_str()
            .and_then(|text| text.strip_prefix(&flag))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    set_variable(option.get_env()?)?;
    let is_argument = arguments.iter().any(|argument| is_given(argument.as_ref()));
    (!is_argument).then(|| format!("{}: {}", variable(option), reason(error)))
}

/// Returns the option that a message of clap names, of a command or of one of its own commands, if a variable sets it.
fn option_of<'a>(command: &'a Command, named: &str) -> Option<&'a Arg> {
    let mut own = command.get_arguments().filter(|option| option.get_env().is_some());
    own.find(|option| option.to_string() == named)
        .or_else(|| command.get_subcommands().find_map(|command| option_of(command, named)))
}

/// Returns why a value is refused, without the value, which may be a password.
pub fn reason(error: &clap::Error) -> String {
    match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(reason), _) => match reason.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
            Some(IntErrorKind::InvalidDigit) => "must be a whole number".into(),
            Some(_) | None => reason.to_string(),
        },
        (None, Some(ContextValue::Strings(words))) => format!("is none of {}", words.join(", ")),
        (None, Some(_) | None) => error.kind().to_string(),
    }
}

/// A variable with our prefix that the program does not read: its setting has no effect.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownVariable {
    name: String,
    meant: Option<String>,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no variable of this release and has no effect", self.name)
    }
}

impl UnknownVariable {
    pub fn remedy(&self) -> String {
        match &self.meant {
            Some(meant) => format!("did you mean {meant}?"),
            None => "remove it; card-payments serve --help lists all variables".into(),
        }
    }
}

/// Returns the unknown variables of this process.
pub fn unknown_variables() -> Vec<UnknownVariable> {
    let mut known: Vec<_> = serve_options().get_arguments().map(variable).collect();
    known.extend(OF_COMMANDS.map(str::to_owned));
    known.extend(TESTS_AS_OF.map(str::to_owned));
    known.extend([VaultKeySource::COMMAND, VaultKeySource::SHARES].map(str::to_owned));
    known.extend(Secrets::VARIABLES.iter().flat_map(|name| [(*name).to_owned(), format!("{name}_FILE")]));
    let names = std::env::vars_os()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, _)| name.into_string().ok());
    let mut unknown: Vec<_> =
        names.filter(|name| name.starts_with(PREFIX) && !known.contains(name)).collect();
    unknown.sort();
    let nearest = |name: &str| {
        let far = |known: &String| strsim::damerau_levenshtein(known, name);
        let nearest = known.iter().min_by_key(|known| far(known));
        // A name that differs in more than half of its letters is a different word.
        nearest.filter(|known| 2 * far(known) <= name.len() - PREFIX.len()).cloned()
    };
    unknown.into_iter().map(|name| UnknownVariable { meant: nearest(&name), name }).collect()
}
