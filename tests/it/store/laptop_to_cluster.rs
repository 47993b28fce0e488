//! The way of an installation from a laptop to a cluster, by the commands of docs/operating/laptop-to-cluster.md, word by word but for addresses and
//! folders. Its last part needs a cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::document::site;
use crate::harness::postgres::is_distributed;
use crate::harness::process::{Process, RawResponse, as_of_tests, output};
use crate::harness::{Database, Installed, token_of};

/// The blocks of commands that are still to be run.
struct Story {
    blocks: std::vec::IntoIter<String>,
    folder: tempfile::TempDir,
}

impl Story {
    /// Reads the section, and names what is here in place of the document's databases and folders.
    fn open(places: &[(&str, &str)]) -> Self {
        let document = site::read("docs/operating/laptop-to-cluster.md");
        let (section, _) = document.split_once("\n## ").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let data = |machine: &str| folder.path().join(machine).display().to_string();
        let key = Path::new(&data("8080")).join("vault.key").display().to_string();
        let blocks = section.split("```\n").skip(1).step_by(2).map(|block| {
            let machine = if block.contains(":8081") { "8081" } else { "8080" };
            let block = block.replace("/var/lib/card-payments", &data(machine));
            let block = block.replace("/etc/card-payments/vault.key", &key);
            let block = places.iter().fold(block, |block, (place, here)| block.replace(place, here));
            block.replace("127.0.0.1:8080", "127.0.0.1:0").replace("127.0.0.1:8081", "127.0.0.1:0")
        });
        Self { blocks: blocks.collect::<Vec<_>>().into_iter(), folder }
    }

    fn shell(&self, commands: &str) -> Command {
        let programs = PathBuf::from(env!("CARGO_BIN_EXE_card-payments"));
        let path =
            std::env::join_paths([programs.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]);
        let mut shell = Command::new("sh");
        shell
            .args(["-euc", commands])
            .env_clear()
            .envs(as_of_tests())
            .env("PATH", path.unwrap())
            .current_dir(self.folder.path());
        shell
    }

    /// Runs the next block, which begins a server.
    fn serve(&mut self) -> Process {
        let block = self.blocks.next().unwrap();
        assert!(block.contains("\ncard-payments serve "), "{block}");
        // A signal to the shell is one to the server.
        Process::start(
            &mut self.shell(&block.replace("\ncard-payments serve ", "\nexec card-payments serve ")),
        )
    }

    /// Runs the next block, which moves the installation.
    fn moves(&mut self) {
        let block = self.blocks.next().unwrap();
        let (code, _, stderr) = output(&mut self.shell(&block));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains("The installation has moved"), "{stderr}");
    }
}

fn refused(answer: &RawResponse) {
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_grows_from_a_laptop_to_a_cluster_by_the_commands_of_the_operators_guide() {
    let Some(postgres) = Installed::on(Database::Postgres).await else { return };
    let cluster = Installed::on(Database::Postgres).await.unwrap();
    let quoted = |database: &Installed| format!("'{}'", database.database_url());
    let mut story = Story::open(&[
        ("postgres://payments@db/payments", &quoted(&postgres)),
        ("postgres://payments@coordinator/payments", &quoted(&cluster)),
    ]);
    let mut paid = Vec::new();
    let mut pay = |server: &Process, key: &str| {
        paid.push(token_of(&server.pay(key).ok(201)));
        for charge in &paid {
            server.ask("GET", &format!("/1/charges/{charge}"), Some(key), "").ok(200);
        }
    };

    let laptop = story.serve();
    let (key, _) = laptop.keys();
    pay(&laptop, &key);
    story.moves();
    refused(&laptop.pay(&key));
    laptop.stopped();

    let one = story.serve();
    pay(&one, &key);
    let other = story.serve();
    pay(&other, &key);
    pay(&one, &key);
    if is_distributed() {
        story.moves();
        refused(&one.pay(&key));
        refused(&other.pay(&key));
        let on_cluster = story.serve();
        pay(&on_cluster, &key);
        on_cluster.stopped();
        assert_eq!(story.blocks.next(), None);
    } else {
        assert_eq!(story.blocks.len(), 2);
    }
    one.stopped();
    other.stopped();
}
