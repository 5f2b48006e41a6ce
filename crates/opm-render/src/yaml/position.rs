//! Where a field stands in a text, for messages about what a text means.

use granit_parser::{Event, Parser};

use super::Position;

/// A mapping or a list that is not at its end yet.
enum OpenNode {
    Mapping { key: Option<String> },
    List { place: usize },
}

/// Where the key at a path stands in a text's first document, or the item. Nothing if it is not
/// there, or an alias stands for it.
pub(super) fn position_of(text: &str, path: &[String]) -> Option<Position> {
    let mut open: Vec<OpenNode> = Vec::new();
    for next in Parser::new_from_str(text) {
        let (event, span) = next.ok()?;
        let at = Position {
            line: span.start.line() as u64,
            column: span.start.col() as u64 + 1,
        };
        let is_end = matches!(event, Event::MappingEnd | Event::SequenceEnd);
        if is_end {
            open.pop();
        }
        if event.is_node() {
            // A key waits for its value; a value that is an item stands where the path may lead.
            if let Some(OpenNode::Mapping { key: key @ None }) = open.last_mut() {
                *key = Some(
                    event
                        .scalar()
                        .map_or_else(String::new, |(text, _)| text.to_owned()),
                );
                if leads_to(&open, path) {
                    return Some(at);
                }
                continue;
            }
            if matches!(open.last(), Some(OpenNode::List { .. })) && leads_to(&open, path) {
                return Some(at);
            }
        }
        match event {
            Event::MappingStart(..) => open.push(OpenNode::Mapping { key: None }),
            Event::SequenceStart(..) => open.push(OpenNode::List { place: 0 }),
            Event::DocumentEnd => return None,
            _ if is_end || event.is_node() => value_ended(&mut open),
            _ => {}
        }
    }
    None
}

fn value_ended(open: &mut [OpenNode]) {
    match open.last_mut() {
        Some(OpenNode::Mapping { key }) => *key = None,
        Some(OpenNode::List { place }) => *place += 1,
        None => {}
    }
}

fn leads_to(open: &[OpenNode], path: &[String]) -> bool {
    open.len() == path.len()
        && open.iter().zip(path).all(|(node, step)| match node {
            OpenNode::Mapping { key } => key.as_ref() == Some(step),
            OpenNode::List { place } => place.to_string() == *step,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_items_are_found() {
        let text = "# c\na: 1\nb:\n  c: [x, {d: 2}]\n  e:\n    - f: 1\n      g: 2\nh: 3\n";
        for (path, expected) in [
            (&["a"][..], Some((2, 1))),
            (&["b", "c"], Some((4, 3))),
            (&["b", "c", "0"], Some((4, 7))),
            (&["b", "c", "1", "d"], Some((4, 11))),
            (&["b", "e", "0", "g"], Some((7, 7))),
            (&["h"], Some((8, 1))),
            (&["b", "x"], None),
            (&["c"], None),
        ] {
            let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
            let found = position_of(text, &path).map(|at| (at.line, at.column));
            assert_eq!(found, expected, "{path:?}");
        }
    }
}
