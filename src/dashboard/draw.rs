//! Drawings, made of SVG on the server: bars, rows of bars, and points along time. Each is a figure with a sentence and a table
//! for people who cannot see it. Integers throughout: amounts are placed on a grid.

use entity::Timestamp;
use maud::{Markup, html};

use super::format::{self, Tone};

/// The width of every drawing, in units of the grid.
pub const WIDTH: i64 = 720;
/// The height of a line of text.
const LINE: i64 = 30;
/// The height of a row's bar, and of the space around it.
const BAR: i64 = 18;
const ROW: i64 = LINE + BAR + 14;
/// The height of the bars of [`bars`].
const BARS: i64 = 150;

/// A drawing with its title, a sentence about it, and its numbers as a table.
pub struct Figure<'a> {
    /// An id on the page.
    pub id: &'static str,
    pub title: &'a str,
    pub summary: String,
    pub drawing: Drawing,
    pub headings: &'a [&'a str],
    pub rows: Vec<Vec<String>>,
}

/// The shapes that a figure draws, and their height.
pub struct Drawing {
    pub height: i64,
    pub shapes: Markup,
}

impl Figure<'_> {
    pub fn render(&self) -> Markup {
        let Drawing { height, shapes } = &self.drawing;
        let (title, described) = (format!("{}-title", self.id), format!("{}-text", self.id));
        html! {
            figure.plot {
                figcaption id=(title) { (self.title) }
                svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-labelledby=(title) aria-describedby=(described) { (shapes) }
                p.hint id=(described) { (self.summary) }
                details {
                    summary { "The same as a table" }
                    div.scroll role="region" aria-label=(self.title) tabindex="0" {
                        table {
                            thead { tr { @for heading in self.headings { th scope="col" { (heading) } } } }
                            tbody { @for row in &self.rows { tr { @for cell in row { td { (cell) } } } } }
                        }
                    }
                }
            }
        }
    }
}

/// A bar that stands on the foot of a drawing: its parts, from below.
pub struct Bar {
    /// The meaning of the bar, as a hint.
    pub hint: String,
    pub parts: Vec<(Tone, i64)>,
}

impl Bar {
    fn sum(&self) -> i64 {
        self.parts.iter().map(|(_, amount)| amount).fold(0, |sum, amount| sum.saturating_add(*amount))
    }
}

/// Draws bars next to each other. `highest` words the highest one; the last texts stand below the first and the last bar.
pub fn bars(bars: &[Bar], highest: &str, first: &str, last: &str) -> Drawing {
    let most = bars.iter().map(Bar::sum).max().unwrap_or_default();
    let step = WIDTH / i64::try_from(bars.len()).unwrap_or(WIDTH).clamp(1, WIDTH);
    let gap = if step > 4 { step / 5 } else { 0 };
    let foot = LINE + BARS;
    let stacked = |bar: &Bar| {
        let mut below = 0;
        let parts = bar.parts.iter().map(|&(tone, amount)| {
            let (from, to) = (scaled(below, most, BARS), scaled(below.saturating_add(amount), most, BARS));
            below = below.saturating_add(amount);
            (tone, foot - to, to - from)
        });
        parts.filter(|(_, _, height)| *height > 0).collect::<Vec<_>>()
    };
    let shapes = html! {
        text x="0" y=(LINE - 8) { (highest) }
        @for (x, bar) in (0..).step_by(usize::try_from(step).unwrap_or(1)).zip(bars) {
            g {
                title { (bar.hint) }
                rect.hover x=(x) y=(LINE) width=(step) height=(BARS) {}
                @for (tone, y, height) in stacked(bar) {
                    rect class=(tone.class()) x=(x) y=(y) width=(step - gap) height=(height) {}
                }
            }
        }
        line.axis x1="0" x2=(WIDTH) y1=(foot) y2=(foot) {}
        text x="0" y=(foot + LINE - 2) { (first) }
        text.end x=(WIDTH) y=(foot + LINE - 2) { (last) }
    };
    Drawing { height: foot + LINE + 6, shapes }
}

/// A bar that lies in a row of its own below its words.
pub struct Row {
    pub label: String,
    /// Its number, in words.
    pub figure: String,
    pub from: i64,
    pub to: i64,
    pub tone: Tone,
}

impl Row {
    /// Creates a row whose bar begins at zero.
    pub fn new(label: impl Into<String>, figure: String, amount: i64, tone: Tone) -> Self {
        Self { label: label.into(), figure, from: 0, to: amount, tone }
    }
}

/// Draws rows below each other. If they are a flow, each one goes on where the one above it ends.
pub fn rows(rows: &[Row], is_flow: bool) -> Drawing {
    let ends = || rows.iter().flat_map(|row| [row.from, row.to]);
    let (lowest, highest) =
        (ends().min().unwrap_or_default().min(0), ends().max().unwrap_or_default().max(0));
    let x = |amount: i64| scaled(amount.saturating_sub(lowest), highest.saturating_sub(lowest), WIDTH);
    let placed = || (0..).step_by(usize::try_from(ROW).unwrap_or(1)).zip(rows);
    let shapes = html! {
        // Behind the texts.
        @if is_flow {
            @for (y, row) in placed().skip(1) {
                line.link x1=(x(row.from)) x2=(x(row.from)) y1=(y + LINE + BAR - ROW) y2=(y + LINE) {}
            }
        }
        @for (y, row) in placed() {
            @let (left, right) = (x(row.from.min(row.to)), x(row.from.max(row.to)));
            text x="0" y=(y + LINE - 6) { (row.label) }
            text.end x=(WIDTH) y=(y + LINE - 6) { (row.figure) }
            @if row.from != row.to {
                rect class=(row.tone.class()) x=(left.min(WIDTH - 3)) y=(y + LINE) width=((right - left).max(3)) height=(BAR) {}
            }
        }
        @if lowest < 0 { line.axis x1=(x(0)) x2=(x(0)) y1="0" y2=(ROW * i64::try_from(rows.len()).unwrap_or_default()) {} }
    };
    Drawing { height: ROW * i64::try_from(rows.len()).unwrap_or_default(), shapes }
}

/// An instant on a line of time.
pub struct Point {
    pub at: Timestamp,
    pub tone: Tone,
    /// The event at that instant, as a hint.
    pub hint: String,
}

/// Draws points along time, and now as a dashed line. The shape of a point tells its tone as well: a circle is good, a square
/// bad, and a ring is yet to come.
pub fn timeline(points: &[Point], now: Timestamp) -> Drawing {
    const MARGIN: i64 = 14;
    let times = || points.iter().map(|point| point.at).chain([now]);
    let (first, last) = (times().min().unwrap_or(now), times().max().unwrap_or(now));
    let span = (last - first).millis();
    let x = |at: Timestamp| MARGIN + scaled((at - first).millis(), span, WIDTH - 2 * MARGIN);
    let y = LINE + 16;
    let shapes = html! {
        line.axis x1=(MARGIN) x2=(WIDTH - MARGIN) y1=(y) y2=(y) {}
        line.today x1=(x(now)) x2=(x(now)) y1=(LINE - 4) y2=(y + 24) {}
        text class=[(x(now) > WIDTH / 2).then_some("end")] x=(x(now)) y=(LINE - 10) { "now" }
        @for point in points {
            @let (class, x) = (point.tone.class(), x(point.at));
            @match point.tone {
                Tone::Bad => { rect class=(class) x=(x - 8) y=(y - 8) width="16" height="16" { title { (point.hint) } } }
                Tone::Waiting => { circle class={ "ring " (class) } cx=(x) cy=(y) r="9" { title { (point.hint) } } }
                Tone::Good | Tone::Plain => { circle class=(class) cx=(x) cy=(y) r="9" { title { (point.hint) } } }
            }
        }
        text x="0" y=(y + 24 + LINE) { (format::exact(&first.to_string())) }
        text.end x=(WIDTH) y=(y + 24 + LINE) { (format::exact(&last.to_string())) }
    };
    Drawing { height: y + 24 + LINE + 8, shapes }
}

/// Returns the part of a length that an amount is of the whole, within it.
pub fn scaled(amount: i64, whole: i64, length: i64) -> i64 {
    let part = i128::from(amount) * i128::from(length) / i128::from(whole.max(1));
    i64::try_from(part).unwrap_or(length).clamp(0, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_high_as_its_share_and_nothing_leaves_the_drawing() {
        assert_eq!(scaled(50, 200, 100), 25);
        for (amount, whole) in
            [(0, 0), (5, 0), (i64::MAX, i64::MAX), (i64::MAX, 1), (-5, 10), (i64::MIN, i64::MAX)]
        {
            assert!((0..=100).contains(&scaled(amount, whole, 100)), "{amount} of {whole}");
        }
        let bar = |parts: &[(Tone, i64)]| Bar { hint: String::new(), parts: parts.to_vec() };
        let drawn =
            bars(&[bar(&[(Tone::Good, 3), (Tone::Bad, 1)]), bar(&[])], "4", "a", "b").shapes.into_string();
        assert!(drawn.contains(r#"class="good" x="0" y="68" width="288" height="112""#), "{drawn}");
        assert!(drawn.contains(r#"class="bad" x="0" y="30" width="288" height="38""#), "{drawn}");
    }

    #[test]
    fn a_flow_goes_on_where_the_row_above_ends() {
        let row = |from, to| Row { label: "Fees".into(), figure: "-1".into(), from, to, tone: Tone::Bad };
        let drawn = rows(&[row(0, 100), row(100, 75), row(0, 75)], true).shapes.into_string();
        assert!(drawn.contains(r#"x="540" y="92" width="180""#), "{drawn}");
        assert!(drawn.contains(r#"class="link" x1="720" x2="720" y1="48" y2="92""#), "{drawn}");
        let below_zero = rows(&[row(0, -50), row(-50, 50)], false).shapes.into_string();
        assert!(below_zero.contains(r#"class="axis" x1="360""#), "{below_zero}");
    }

    #[test]
    fn a_timeline_has_now_and_a_shape_for_each_tone() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let point = |seconds, tone| Point { at: at(seconds), tone, hint: String::new() };
        let points = [point(0, Tone::Good), point(50, Tone::Bad), point(100, Tone::Waiting)];
        let drawn = timeline(&points, at(25)).shapes.into_string();
        for part in [
            r#"x1="187" x2="187""#,
            r#"<rect class="bad" x="352""#,
            r#"<circle class="ring waiting" cx="706""#,
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
        assert!(timeline(&[point(5, Tone::Good)], at(5)).height > 0, "one instant");
    }
}
