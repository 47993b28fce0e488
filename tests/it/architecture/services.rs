//! Services import each other in one direction, in the order that `src/services/mod.rs` gives.

use super::Found;
use super::finding::{matching, outer_names, root, sources, words};

/// Returns the order of services, as their own module gives it. A part such as `due_work::clocks` may stand apart from its noun.
fn order_of_services() -> Vec<String> {
    let module = std::fs::read_to_string(root().join("src/services/mod.rs")).expect("the services");
    let prose = module.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    let (_, order) = prose.split_once("\n\n").expect("a paragraph of the order");
    let (mut depth, mut bare) = (0, String::new());
    for letter in order.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    bare.trim().trim_end_matches('.').split(',').map(|name| name.trim().to_owned()).collect()
}

/// Whether a file holds the parameters or the view of a noun: shapes, which every service may name.
pub fn is_shape(path: &str) -> bool {
    path.strip_prefix("src/services/").is_some_and(|path| {
        path.rsplit('/').next().is_some_and(|file| is_module_of_shapes(file.trim_end_matches(".rs")))
    })
}

fn is_module_of_shapes(module: &str) -> bool {
    ["params", "view"]
        .into_iter()
        .any(|shape| module.strip_suffix(shape).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')))
}

/// Whether a path below `services` leads to parameters or a view.
fn leads_to_shape(path: &str) -> bool {
    let end = path.find(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
    path[..end.unwrap_or(path.len())].split("::").skip(1).any(is_module_of_shapes)
}

/// What a file of parameters or a view names of services that is neither.
pub fn beyond_shapes(path: &str, text: &str) -> Found {
    // Tests of a file name what is in it.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let relative = matching(code, |line| line.contains("super::").then(|| "names its service".to_owned()));
    let named = services_named(path, code).into_iter().map(|(line, noun)| (line, format!("names {noun}")));
    relative.into_iter().chain(named).collect()
}

/// The nouns of services that a file names, with their lines, but for their parameters and views.
fn services_named(path: &str, text: &str) -> Found {
    let inside = path.strip_prefix("src/services/").expect("a file of services");
    let up = "super::".repeat(inside.matches('/').count() + usize::from(!inside.ends_with("mod.rs")));
    let code = matching(text, |line| Some(line.to_owned()));
    let mut found = Found::new();
    for (index, (number, line)) in code.iter().enumerate() {
        for head in ["crate::services::", up.as_str()] {
            let heads = line.match_indices(head).filter(|(at, _)| !line[..*at].ends_with("super::"));
            for (at, _) in heads {
                let rest = &line[at + head.len()..];
                let following = code[index + 1..].iter().map(|(_, line)| line.as_str());
                let names = match rest.strip_prefix('{') {
                    Some(group) => outer_names(std::iter::once(group).chain(following)),
                    None if leads_to_shape(rest) => Vec::new(),
                    None => words(rest).take(1).map(str::to_owned).collect(),
                };
                found.extend(names.into_iter().map(|name| (*number, name)));
            }
        }
    }
    found
}

#[test]
fn services_import_each_other_in_one_direction() {
    let order = order_of_services();
    let place = |noun: &str| order.iter().position(|named| named == noun);
    let mut broken = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| path.starts_with("src/services/")) {
        let module = path["src/services/".len()..].trim_end_matches(".rs").trim_end_matches("/mod");
        let noun = module.split('/').next().expect("a noun");
        // The context holds parts of several nouns, and all of them get it.
        if ["mod", "context"].contains(&module) {
            continue;
        }
        let Some(own) = place(&module.replace('/', "::")).or_else(|| place(noun)) else {
            broken.push(format!("{path}: {noun} has no place in the order"));
            continue;
        };
        for (line, named) in services_named(path, text) {
            if named != noun && place(&named).is_some_and(|later| later > own) {
                broken.push(format!("{path}:{line}: names {named}, which comes later"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn a_service_that_names_a_later_one_is_noticed() {
    let named = |path, text| services_named(path, text).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    let group = "use crate::services::{\n    cards::find,\n    disputes,\n};\n";
    assert_eq!(named("src/services/payments/outcome.rs", group), ["cards", "disputes"]);
    assert_eq!(
        named("src/services/payments/outcome.rs", "use super::super::disputes::open;\n"),
        ["disputes"]
    );
    assert_eq!(named("src/services/payments/outcome.rs", "use super::state::next;\n"), [""; 0]);
    assert_eq!(named("src/services/payments/mod.rs", "use super::disputes;\n"), ["disputes"]);
    assert_eq!(named("src/services/payer.rs", "crate::services::disputes::open();\n"), ["disputes"]);
    assert_eq!(named("src/services/payer.rs", "use crate::services::disputes::view::Dispute;\n"), [""; 0]);
    assert_eq!(
        named("src/services/payer.rs", "crate::services::sandbox::clock_view::Clock::new();\n"),
        [""; 0]
    );
}
