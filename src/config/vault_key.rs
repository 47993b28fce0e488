//! The sources of the operator's vault keys: a variable or file, a program that prints them, or shares that several
//! custodians enter (`docs/decisions.md`, 384).

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base::platform::{self, HiddenInput};
use base::secret::Secret;
use base::secret_shares::{self, ShareError};
use base::variables::set_variable;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{ConfigError, Secrets, read};
use crate::limits::{KEY_COMMAND_OUTPUT_MAX, KEY_COMMAND_TIMEOUT};

/// The source of the operator's vault keys.
#[derive(Debug, Clone)]
pub enum VaultKeySource {
    /// The keys themselves, from the variable or its file.
    Text(Secret),
    /// The words of a program that prints the keys.
    Command(Vec<String>),
    /// Files with a share each; `-` is standard input, with a share a line.
    Shares(Vec<PathBuf>),
}

/// The reason why the command gave no keys. Names the program, never its arguments or its output.
#[derive(Debug, thiserror::Error)]
pub enum KeyCommandError {
    /// The text is not a command.
    #[error("write a program and its arguments as in a shell, with every quote closed")]
    NotWords,
    /// The program cannot be started.
    #[error("{0:?} cannot be run: {1}")]
    NotRun(String, io::Error),
    /// The program failed.
    #[error("{0:?} ended with {1} and no key; run the command yourself to read why")]
    Failed(String, ExitStatus),
    /// The program ran too long.
    #[error("{0:?} had not ended after {1:?} and was killed")]
    TooSlow(String, Duration),
    /// The program printed something other than keys.
    #[error("{0:?} printed nothing, or more than {KEY_COMMAND_OUTPUT_MAX} bytes, or no text")]
    NoKey(String),
}

/// The standard input among files.
const STANDARD_INPUT: &str = "-";

impl VaultKeySource {
    /// The variable of the keys themselves.
    pub const TEXT: &str = "CARD_PAYMENTS_VAULT_KEY";
    /// The variable of the command.
    pub const COMMAND: &str = "CARD_PAYMENTS_VAULT_KEY_COMMAND";
    /// The variable of the files with shares.
    pub const SHARES: &str = "CARD_PAYMENTS_VAULT_KEY_SHARES";

    /// Reads which source is configured, without running or reading it. `text` is that of the variable or its file.
    pub(super) fn from_environment(text: Option<Secret>) -> Result<Option<Self>, ConfigError> {
        let sources = [
            text.map(|text| Ok(Self::Text(text))),
            set_variable(Self::COMMAND).map(|command| Self::command(&command.to_string_lossy())),
            set_variable(Self::SHARES).map(|files| {
                let files = files.to_string_lossy();
                let files = files.split(',').map(str::trim).filter(|file| !file.is_empty());
                Ok(Self::Shares(files.map(PathBuf::from).collect()))
            }),
        ];
        let names = [Self::TEXT, Self::COMMAND, Self::SHARES];
        let mut given = names.into_iter().zip(sources).filter_map(|(name, source)| Some((name, source?)));
        match (given.next(), given.next()) {
            (Some((one, _)), Some((other, _))) => Err(ConfigError::VaultKeys(one, other)),
            (source, _) => source.map(|(_, source)| source).transpose(),
        }
    }

    fn command(text: &str) -> Result<Self, ConfigError> {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        Ok(Self::Command(words.ok_or(ConfigError::KeyCommand(KeyCommandError::NotWords))?))
    }

    /// Returns the name of the source's variable.
    pub const fn variable(&self) -> &'static str {
        match self {
            Self::Text(_) => Self::TEXT,
            Self::Command(_) => Self::COMMAND,
            Self::Shares(_) => Self::SHARES,
        }
    }

    /// Returns whether somebody types shares, who is asked for them on a terminal.
    pub fn asks(&self) -> bool {
        matches!(self, Self::Shares(files) if files.iter().any(|file| file == Path::new(STANDARD_INPUT)))
    }

    /// Returns the keys: runs the command, or reads and combines the shares.
    pub async fn read(&self) -> Result<Secret, ConfigError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Command(words) => run(words, KEY_COMMAND_TIMEOUT).await.map_err(ConfigError::KeyCommand),
            Self::Shares(files) => {
                let mut entered = Vec::new();
                for file in files {
                    if file == Path::new(STANDARD_INPUT) {
                        read_lines(&mut entered).await?;
                    } else {
                        entered.push(read(file)?);
                    }
                }
                Ok(secret_shares::combine(&entered)?)
            }
        }
    }
}

impl From<Secret> for VaultKeySource {
    fn from(text: Secret) -> Self {
        Self::Text(text)
    }
}

/// Runs a program without a shell and returns what it prints. It gets none of the server's other keys, and its errors are
/// printed nowhere, because a program may repeat a secret there.
async fn run(words: &[String], limit: Duration) -> Result<Secret, KeyCommandError> {
    let program = words[0].clone();
    let mut command = Command::new(platform::program(program.as_ref()));
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    for name in Secrets::VARIABLES {
        command.env_remove(name);
    }
    // A group of its own, which is killed with all that the program has started.
    platform::in_own_group(&mut command);
    let mut child = match command.kill_on_drop(true).spawn() {
        Ok(child) => child,
        Err(error) => return Err(KeyCommandError::NotRun(program, error)),
    };
    let group = child.id();
    let ended = timeout(limit, output(&mut child)).await;
    if !matches!(ended, Ok(Ok(Some(_))))
        && let Some(group) = group
    {
        // Not awaited yet, so its number is still its own.
        platform::kill_group(group);
    }
    match ended {
        Err(_) => Err(KeyCommandError::TooSlow(program, limit)),
        Ok(Err(error)) => Err(KeyCommandError::NotRun(program, error)),
        Ok(Ok(None)) => Err(KeyCommandError::NoKey(program)),
        Ok(Ok(Some((status, _)))) if !status.success() => Err(KeyCommandError::Failed(program, status)),
        Ok(Ok(Some((_, bytes)))) => {
            let text = std::str::from_utf8(&bytes).unwrap_or_default().trim_end_matches(['\r', '\n']);
            if text.is_empty() { Err(KeyCommandError::NoKey(program)) } else { Ok(text.into()) }
        }
    }
}

/// Returns what a program prints until it ends, and how it ends; `None` if it prints too much.
async fn output(child: &mut Child) -> io::Result<Option<(ExitStatus, Zeroizing<Vec<u8>>)>> {
    // Never reallocated: that would leave a copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(2 * KEY_COMMAND_OUTPUT_MAX));
    if let Some(stdout) = child.stdout.take() {
        stdout.take(KEY_COMMAND_OUTPUT_MAX as u64 + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() > KEY_COMMAND_OUTPUT_MAX {
        return Ok(None);
    }
    Ok(Some((child.wait().await?, bytes)))
}

/// Reads shares from the standard input, a line each, until the input ends. On a terminal it asks for each one, does not show
/// it, and stops when they are enough.
async fn read_lines(entered: &mut Vec<Secret>) -> Result<(), ConfigError> {
    let failed = |error| ConfigError::File("the standard input".into(), error);
    let hidden = HiddenInput::of_terminal();
    let (sender, mut lines) = mpsc::unbounded_channel();
    // A thread of its own, because a process that ends does not wait for it.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if sender.send(line.map(Secret::from)).is_err() {
                break;
            }
        }
    });
    loop {
        if hidden.is_some() {
            // Without a terminal for errors the question is not seen, and the answer counts all the same.
            let _ = write!(io::stderr(), "Share {} of the vault key: ", entered.len() + 1);
        }
        let Some(line) = lines.recv().await.transpose().map_err(failed)? else { return Ok(()) };
        if hidden.is_some() {
            let _ = writeln!(io::stderr());
        }
        if line.expose().trim().is_empty() {
            continue;
        }
        entered.push(line);
        if hidden.is_some() && !matches!(secret_shares::combine(entered), Err(ShareError::TooFew { .. })) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run_shell(script: &str, limit: Duration) -> Result<String, String> {
        let words = ["sh", "-c", script].map(str::to_owned);
        let read = run(&words, limit).await;
        read.map(|text| text.expose().to_owned()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_program_hands_over_the_key_and_whatever_else_it_does_is_told_without_its_words() {
        let long = Duration::from_secs(20);
        assert_eq!(run_shell("printf 'own:abc\\n'", long).await.as_deref(), Ok("own:abc"));
        let told = |end: &str| Err(format!("\"sh\" {end}"));
        let failed = "ended with exit status: 3 and no key; run the command yourself to read why";
        assert_eq!(run_shell("echo own:abc; echo hunter2 >&2; exit 3", long).await, told(failed));
        let no_key = "printed nothing, or more than 4096 bytes, or no text";
        for script in ["true", "echo", "head -c 5000 /dev/zero | tr '\\0' x", "yes", "printf '\\377\\376'"] {
            assert_eq!(run_shell(script, long).await, told(no_key), "{script}");
        }
        let words = ["/no/such/program".to_owned()];
        let missing = run(&words, long).await.expect_err("no program").to_string();
        assert!(missing.starts_with("\"/no/such/program\" cannot be run: "), "{missing}");
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed_with_its_children() {
        let soon = Duration::from_millis(200);
        let told = run_shell("tail -f /dev/null & echo $!; wait", soon).await;
        assert_eq!(told, Err("\"sh\" had not ended after 200ms and was killed".to_owned()));
        // It has ended, but its child has its output.
        let told = run_shell("tail -f /dev/null &", soon).await;
        assert_eq!(told, Err("\"sh\" had not ended after 200ms and was killed".to_owned()));
    }

    #[test]
    fn a_command_is_split_as_a_shell_would_split_it() {
        let words = |text: &str| match VaultKeySource::command(text) {
            Ok(VaultKeySource::Command(words)) => Some(words),
            Ok(VaultKeySource::Text(_) | VaultKeySource::Shares(_)) | Err(_) => None,
        };
        assert_eq!(
            words("age -d -i '/etc/a b' \"$HOME\""),
            Some(["age", "-d", "-i", "/etc/a b", "$HOME"].map(str::to_owned).to_vec())
        );
        for wrong in ["", "  ", "age 'x"] {
            assert_eq!(words(wrong), None, "{wrong}");
        }
    }
}
