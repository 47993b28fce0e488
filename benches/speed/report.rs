//! What came of it: figures, facts and goals, as tables or as JSON.

use std::time::Duration;

use serde::Serialize;

use super::load::Run;

/// The speed of a repeated operation.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    pub on: &'static str,
    pub name: &'static str,
    pub per_second: u64,
    pub p50_us: u64,
    pub p99_us: u64,
    /// What the server's processes use of a processor, a request.
    pub cpu_us: u64,
    /// What the database's processes use; none of its own has SQLite.
    pub database_cpu_us: u64,
    /// The load generator's own.
    pub client_cpu_us: u64,
    /// What this is a part of, and how many of a hundred.
    pub ceiling: Option<&'static str>,
    pub share: Option<u64>,
}

/// What processors were used for a run: by servers, the database, the load generator.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    pub server: Duration,
    pub database: Duration,
    pub client: Duration,
}

impl Figure {
    pub fn new(on: &'static str, name: &'static str, run: &Run, cpu: &Cpu) -> Self {
        let each =
            |cpu: Duration| micros(cpu) / u64::try_from(run.latencies.len().max(1)).unwrap_or(u64::MAX);
        Self {
            on,
            name,
            per_second: run.per_second(),
            p50_us: micros(run.percentile(50)),
            p99_us: micros(run.percentile(99)),
            cpu_us: each(cpu.server),
            database_cpu_us: each(cpu.database),
            client_cpu_us: each(cpu.client),
            ceiling: None,
            share: None,
        }
    }
}

/// One number.
#[derive(Debug, Clone, Serialize)]
pub struct Fact {
    pub on: &'static str,
    pub name: &'static str,
    pub value: u64,
    pub unit: String,
}

/// The goal of a number.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    AtLeast(u64),
    AtMost(u64),
}

/// A number with its goal.
#[derive(Debug, Clone, Serialize)]
pub struct Goal {
    pub on: &'static str,
    pub name: String,
    pub is: u64,
    pub wanted: Wanted,
    pub unit: &'static str,
    pub met: bool,
}

/// Everything.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub figures: Vec<Figure>,
    pub facts: Vec<Fact>,
    pub goals: Vec<Goal>,
    /// Failed answers.
    pub failures: Vec<String>,
}

impl Report {
    /// A figure; of several of the same name the fastest one.
    pub fn best(&mut self, figure: Figure, run: &Run) {
        self.note(run);
        let former =
            self.figures.iter_mut().find(|former| (former.on, former.name) == (figure.on, figure.name));
        match former {
            Some(former) if (figure.per_second, former.p50_us) > (former.per_second, figure.p50_us) => {
                *former = figure;
            }
            Some(_) => {}
            None => self.figures.push(figure),
        }
    }

    /// Returns whether a run's requests succeeded.
    pub fn note(&mut self, run: &Run) {
        self.failures
            .extend(run.failure.as_ref().map(|failure| format!("{} requests failed: {failure}", run.failed)));
    }

    pub fn fact(&mut self, on: &'static str, name: &'static str, value: u64, unit: impl Into<String>) {
        self.facts.push(Fact { on, name, value, unit: unit.into() });
    }

    pub fn goal(
        &mut self,
        on: &'static str,
        name: impl Into<String>,
        is: u64,
        wanted: Wanted,
        unit: &'static str,
    ) {
        let met = match wanted {
            Wanted::AtLeast(least) => is >= least,
            Wanted::AtMost(most) => is <= most,
        };
        self.goals.push(Goal { on, name: name.into(), is, wanted, unit, met });
    }

    /// A figure that was taken.
    pub fn figure(&self, on: &str, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.on == on && figure.name == name)
    }

    /// Returns how many of a hundred one figure is of another, which is its ceiling.
    pub fn is_part(&mut self, on: &str, name: &str, of: &'static str) -> Option<u64> {
        let ceiling = self.figure(on, of)?.per_second;
        let figure = self.figures.iter_mut().find(|figure| figure.on == on && figure.name == name)?;
        let share = figure.per_second * 100 / ceiling.max(1);
        (figure.ceiling, figure.share) = (Some(of), Some(share));
        Some(share)
    }

    /// A fact that was found.
    pub fn value(&self, on: &str, name: &str) -> Option<u64> {
        self.facts.iter().find(|fact| fact.on == on && fact.name == name).map(|fact| fact.value)
    }

    pub fn print(&self) {
        let heads = ["", "", "a second", "p50 us", "p99 us", "CPU us", "database's", "client's", "of", "%"];
        let number = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        table(
            heads,
            self.figures.iter().map(|figure| {
                let Figure { on, name, per_second, ceiling, share, .. } = figure;
                let times = [
                    figure.p50_us,
                    figure.p99_us,
                    figure.cpu_us,
                    figure.database_cpu_us,
                    figure.client_cpu_us,
                ];
                let [p50, p99, cpu, database, client] = times.map(number);
                let share = share.map(number).unwrap_or_default();
                [
                    (*on).into(),
                    (*name).into(),
                    number(*per_second),
                    p50,
                    p99,
                    cpu,
                    database,
                    client,
                    ceiling.unwrap_or_default().into(),
                    share,
                ]
            }),
        );
        table(
            ["", "", "is", ""],
            self.facts.iter().map(|Fact { on, name, value, unit }| {
                [(*on).into(), (*name).into(), value.to_string(), unit.clone()]
            }),
        );
        table(
            ["", "goal", "is", "wanted", ""],
            self.goals.iter().map(|goal| {
                let wanted = match goal.wanted {
                    Wanted::AtLeast(least) => format!("at least {least}"),
                    Wanted::AtMost(most) => format!("at most {most}"),
                };
                let met = if goal.met { "met" } else { "MISSED" };
                [
                    goal.on.into(),
                    goal.name.clone(),
                    goal.is.to_string(),
                    format!("{wanted} {}", goal.unit),
                    met.into(),
                ]
            }),
        );
    }
}

/// Columns as wide as they must be; texts to the left, numbers to the right.
fn table<const N: usize>(heads: [&str; N], rows: impl Iterator<Item = [String; N]>) {
    let rows: Vec<_> = std::iter::once(heads.map(String::from)).chain(rows).collect();
    if rows.len() == 1 {
        return;
    }
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or(0));
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            if cell.parse::<u64>().is_ok() { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    println!();
}

pub fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

pub fn kilobytes(bytes: u64) -> u64 {
    bytes / 1000
}
